"""`python -m bmcg`: the command, for whoever starts modules, as torchrun does."""

from .cli import main

if __name__ == "__main__":
    main()
