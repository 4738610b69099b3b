"""The data of the pictures of a plan: its front, its queue, its table and its tornado.

May import answers, quantities and the theme.
"""
