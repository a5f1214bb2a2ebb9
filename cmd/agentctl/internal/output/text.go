package output

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Age is how long ago t was, in words that suit its size.
func Age(now, t time.Time) string {
	d := now.Sub(t)
	switch {
	case t.IsZero():
		return "never"
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// AgeOf is how long ago t was; empty if that is unknown.
func (p *Printer) AgeOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Age(p.Now(), t)
}

// Thousands formats a number with separators: 620,000.
func Thousands(n uint64) string {
	text := strconv.FormatUint(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Lines makes sure that text ends with the end of a line.
func Lines(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// Indented returns JSON as YAML-like text for a table cell.
func Indented(data json.RawMessage) string {
	if len(data) == 0 || string(data) == "null" {
		return ""
	}
	text, err := Rendered(WriteYAML, data)
	if err != nil {
		return string(data)
	}
	return text
}

// Unset stands for the value of a field without one.
const Unset = "(unset)"
