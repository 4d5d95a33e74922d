"""One programmable HTTP receiver for the demo, the acceptance tests, the chaos runs and the benches.

The path of an endpoint's URL chooses how it behaves (see ``behaviours``), a control API on the same port tells what
arrived (see ``control``), and ``client.ReceiverProcess`` runs it for a test. Everything it got is kept and logged
*before* it is answered, so its log is the witness of what a sender really sent.
"""
