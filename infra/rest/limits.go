package rest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rest/internal/limit"
)

// limitRate rejects clients that exceed the rate limit with status 429, before
// it checks their passwords.
func (c RateLimiter) limitRate(next http.Handler) http.Handler {
	if c.Limit == 0 {
		return next
	}
	l := limit.New(c.Limit, cmp.Or(c.Burst, max(1, int(math.Ceil(c.Limit)))))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ok, wait := l.Allow(limit.Client(r.RemoteAddr), time.Now())
		if !ok {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			WriteError(w, http.StatusTooManyRequests, fmt.Errorf("more than %v requests per second (rate-limiter in http.conf)", c.Limit))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limitBody limits the size of request bodies and the time of reading them. The
// ReadTimeout of net/http is unsuitable, because it would also end the contexts
// of requests whose responses take longer.
func (c Config) limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		if c.MaxBodyBytes > 0 {
			if r.ContentLength > c.MaxBodyBytes {
				w.Header().Set("Connection", "close") // rather than read the whole body
				WriteError(w, http.StatusRequestEntityTooLarge, tooLarge(c.MaxBodyBytes))
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, c.MaxBodyBytes)
		}
		if c.ReadTimeout > 0 {
			rc := http.NewResponseController(w)
			if err := rc.SetReadDeadline(time.Now().Add(c.ReadTimeout)); err == nil { // fails only if the connection is closed
				r.Body = &timedBody{r.Body, rc}
			}
		}
		next.ServeHTTP(w, r)
	})
}

func tooLarge(bound int64) error {
	return fmt.Errorf("the body has more than %d bytes (max-body-bytes in http.conf)", bound)
}

// timedBody removes the deadline when the body has arrived.
type timedBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

func (b *timedBody) Read(buf []byte) (int, error) {
	n, err := b.ReadCloser.Read(buf)
	if errors.Is(err, io.EOF) {
		_ = b.rc.SetReadDeadline(time.Time{}) // fails only if the connection is closed
	}
	return n, err
}
