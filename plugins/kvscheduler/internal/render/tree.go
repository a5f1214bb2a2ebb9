package render

import (
	"bufio"
	"fmt"
	"io"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Tree writes an explanation as an indented tree: every value with its state,
// how long it has been in it, and the reason; below it what it refers to. A
// zero now leaves the durations out. It returns the writer's error.
func Tree(w io.Writer, e *api.Explanation, now time.Time) error {
	b := bufio.NewWriter(w)
	branch(b, e, now, "", "")
	return b.Flush()
}

func branch(b *bufio.Writer, e *api.Explanation, now time.Time, first, rest string) {
	b.WriteString(first)
	if e.Label != "" && e.Label != e.Key {
		fmt.Fprintf(b, "%s: ", e.Label)
	}
	fmt.Fprintf(b, "%s %v", e.Key, e.State)
	if !now.IsZero() && !e.Since.IsZero() {
		fmt.Fprintf(b, " for %v", now.Sub(e.Since).Round(time.Second))
	}
	if e.Reason != "" {
		fmt.Fprintf(b, ": %s", e.Reason)
	}
	b.WriteByte('\n')
	for i, child := range e.Children {
		if i == len(e.Children)-1 {
			branch(b, child, now, rest+"└─ ", rest+"   ")
		} else {
			branch(b, child, now, rest+"├─ ", rest+"│  ")
		}
	}
}
