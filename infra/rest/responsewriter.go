package rest

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

// piece is the part of a response to which stall-timeout applies, in bytes.
const piece = 64 << 10

// responseWriter is an http.ResponseWriter that records the status and disconnects
// clients that do not read.
type responseWriter struct {
	http.ResponseWriter
	rc     *http.ResponseController
	stall  time.Duration // 0 disables the timeout
	limit  time.Time     // deadline of the whole response; zero if there is none
	status int
}

func (c Config) newResponseWriter(w http.ResponseWriter, now time.Time) *responseWriter {
	a := &responseWriter{ResponseWriter: w, rc: http.NewResponseController(w), stall: c.StallTimeout}
	if c.WriteTimeout > 0 {
		a.limit = now.Add(c.WriteTimeout)
	}
	a.clearDeadline() // removes the deadline of the previous response on this connection
	return a
}

func (a *responseWriter) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK { // informational responses precede it
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter. It disconnects a client that takes
// longer than stall-timeout for a piece, but not one that is merely slow.
func (a *responseWriter) Write(b []byte) (int, error) {
	a.status = a.code()
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

// FlushError implements Flush of http.ResponseController.
func (a *responseWriter) FlushError() error {
	a.setDeadline()
	defer a.clearDeadline()
	return a.rc.Flush()
}

// Unwrap supports http.ResponseController.
func (a *responseWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// end is called when the handler has returned; the server then sends the
// buffered rest.
func (a *responseWriter) end() { a.setDeadline() }

// setDeadline sets the deadline of the next write.
func (a *responseWriter) setDeadline() {
	if a.stall == 0 {
		return
	}
	by := time.Now().Add(a.stall)
	if !a.limit.IsZero() && a.limit.Before(by) {
		by = a.limit
	}
	_ = a.rc.SetWriteDeadline(by) // fails only if the connection is closed
}

// clearDeadline removes the deadline until the handler writes again. A remaining
// deadline would also end an idle HTTP/2 stream.
func (a *responseWriter) clearDeadline() {
	if a.stall != 0 {
		_ = a.rc.SetWriteDeadline(a.limit) // fails only if the connection is closed
	}
}

func (a *responseWriter) code() int { return cmp.Or(a.status, http.StatusOK) }

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
