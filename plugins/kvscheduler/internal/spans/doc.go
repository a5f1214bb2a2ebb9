// Package spans makes OpenTelemetry spans of recorded transactions after their
// execution, with the times of the record. Tracing does not slow the execution down.
package spans
