"""The pictures of a step over several GPUs, one function each, from the data of
`app.answers.cluster.answer`.

May import drawing, scenes, answers and quantities.
"""
