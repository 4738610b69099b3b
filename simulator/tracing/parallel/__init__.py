"""One rank of a distributed program, run without a GPU and without its peers."""
