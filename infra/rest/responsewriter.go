package rest

import (
	"net/http"
	"strings"
	"time"
)

// piece is how much of an answer a client has stall-timeout for, in bytes.
const piece = 64 << 10

// responseWriter is a ResponseWriter that knows its status and gives up on clients
// that do not read.
type responseWriter struct {
	http.ResponseWriter
	rc     *http.ResponseController
	stall  time.Duration // 0: no bound
	limit  time.Time     // of the whole answer, zero: none
	status int
}

// newResponseWriter begins an answer.
func (c Config) newResponseWriter(w http.ResponseWriter, now time.Time) *responseWriter {
	a := &responseWriter{ResponseWriter: w, rc: http.NewResponseController(w), stall: c.StallTimeout}
	if c.WriteTimeout > 0 {
		a.limit = now.Add(c.WriteTimeout)
	}
	a.clearDeadline() // the deadline of the previous answer on this connection
	return a
}

// WriteHeader implements http.ResponseWriter.
func (a *responseWriter) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK { // others only precede it
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. A client that takes longer than
// stall-timeout for a piece is cut off; one that is merely slow is not.
func (a *responseWriter) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if a.stall == 0 {
		return a.ResponseWriter.Write(b)
	}
	written := 0
	for {
		a.setDeadline()
		n, err := a.ResponseWriter.Write(b[:min(len(b), piece)])
		written, b = written+n, b[n:]
		if err != nil || len(b) == 0 {
			a.clearDeadline()
			return written, err
		}
	}
}

// FlushError is Flush of http.ResponseController.
func (a *responseWriter) FlushError() error {
	a.setDeadline()
	defer a.clearDeadline()
	return a.rc.Flush()
}

// Unwrap is for http.ResponseController.
func (a *responseWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// end is called when the handler has returned; the server then sends what it
// still has.
func (a *responseWriter) end() { a.setDeadline() }

// setDeadline bounds the time of what is written next.
func (a *responseWriter) setDeadline() {
	if a.stall == 0 {
		return
	}
	by := time.Now().Add(a.stall)
	if !a.limit.IsZero() && a.limit.Before(by) {
		by = a.limit
	}
	_ = a.rc.SetWriteDeadline(by) // fails only if the connection is gone
}

// clearDeadline lets the handler take its time until it writes again. A deadline that
// stays would also end a stream of HTTP/2 on which nothing happens.
func (a *responseWriter) clearDeadline() {
	if a.stall != 0 {
		_ = a.rc.SetWriteDeadline(a.limit) // fails only if the connection is gone
	}
}

func (a *responseWriter) code() int {
	if a.status == 0 {
		return http.StatusOK
	}
	return a.status
}

// pathOf returns the path of a pattern of http.ServeMux.
func pathOf(pattern string) string {
	if pattern == "" {
		return "none"
	}
	_, path, found := strings.Cut(pattern, " ")
	if !found {
		path = pattern
	}
	return strings.TrimSuffix(path, "{$}")
}
