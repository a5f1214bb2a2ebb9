// Package record keeps the history of transactions in memory, limited in entries,
// bytes and age, and formats a recorded transaction as the text of the log. Records
// are data: text and JSON are made on demand.
package record
