// Package response has the JSON of the answers below /scheduler/ that are no types
// of package api: lists, results and statistics. The agent writes these types, and
// clients parse them. Field names and the order of fields are part of the interface.
package response
