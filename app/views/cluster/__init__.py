"""A step over several GPUs: the cluster, the split, its ranks and collectives, and its scaling. May
import charts, widgets, answers and the packages below them."""
