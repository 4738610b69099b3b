"""How fast answers are, with numpy set up as the app does it."""

import app as app
