"""A server of the Model Context Protocol: an assistant asks, a person confirms every price.

It passes on to a service with the token of an analyst, whose allowance is what the assistant can
spend at the most. Prices, plans and dummy answers are free. Before a question is asked of the data,
the person at the keyboard is shown question and price and says yes: through the assistant's program
where it can ask its user (*elicitation*), else by a code that they type at a terminal of their own
(``whitecrow mcp --approve CODE``), which shows both and asks. A yes holds for this very question
at this very price, once.
"""

from whitecrow_server.mcp._assistant import TOOLS, Assistant, serve
from whitecrow_server.mcp.approvals import Approvals, Spend

__all__ = ["TOOLS", "Approvals", "Assistant", "Spend", "serve"]
