package agenttest

// CheckLeaksWithin is CheckLeaks with a patience of its own.
var CheckLeaksWithin = checkLeaks
