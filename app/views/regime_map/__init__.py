"""Which regime rules over two axes, and what lies through the cursor."""
