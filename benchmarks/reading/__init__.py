"""What it takes to read files of a size that users have, beside what the fit takes."""
