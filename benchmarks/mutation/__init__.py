"""Small faults put into the source at random: do the tests notice?"""
