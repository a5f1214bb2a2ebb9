package client

import (
	"context"
	"slices"
	"strings"
)

// Metric is a metric of the agent, with the samples that it has now.
type Metric struct {
	Name    string
	Type    string // counter, gauge, histogram, summary, untyped
	Help    string
	Samples []Sample
}

// Sample is one value of a metric. Those of a histogram have other names than
// the metric itself, with _bucket, _sum and _count.
type Sample struct {
	Name   string
	Labels string `json:",omitempty"` // as they are written: {code="200"}
	Value  string
}

// Metrics returns all metrics of the agent, sorted by name.
func (c *Client) Metrics(ctx context.Context) ([]Metric, error) {
	text, err := c.get(ctx, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	return parseMetrics(string(text)), nil
}

// parseMetrics reads the text format of Prometheus; what is malformed is left
// out.
func parseMetrics(text string) []Metric {
	byName := map[string]*Metric{}
	of := func(name string) *Metric {
		m := byName[name]
		if m == nil {
			m = &Metric{Name: name, Type: "untyped", Samples: []Sample{}}
			byName[name] = m
		}
		return m
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if kind, rest, ok := cutComment(line); ok {
			name, value, _ := strings.Cut(rest, " ")
			switch {
			case name == "":
			case kind == "HELP":
				of(name).Help = value
			case kind == "TYPE":
				of(name).Type = value
			}
			continue
		}
		if s, ok := parseSample(line); ok {
			m := of(metricOf(byName, s.Name))
			m.Samples = append(m.Samples, s)
		}
	}
	all := []Metric{}
	for _, m := range byName {
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// cutComment reads "# HELP ..." and "# TYPE ...".
func cutComment(line string) (kind, rest string, ok bool) {
	text, ok := strings.CutPrefix(line, "#")
	if !ok {
		return "", "", false
	}
	kind, rest, _ = strings.Cut(strings.TrimSpace(text), " ")
	return kind, strings.TrimSpace(rest), true
}

// parseSample reads name{labels} value. Labels may have blanks and braces within
// quotes.
func parseSample(line string) (s Sample, ok bool) {
	i := strings.IndexAny(line, "{ ")
	if i <= 0 {
		return s, false
	}
	s.Name = line[:i]
	if line[i] == '{' {
		end := labelsEnd(line[i:])
		if end < 0 {
			return s, false
		}
		s.Labels, i = line[i:i+end], i+end
	}
	fields := strings.Fields(line[i:]) // the second one is a time
	if len(fields) == 0 {
		return s, false
	}
	s.Value = fields[0]
	return s, true
}

// labelsEnd returns where the labels that a text begins with end, or -1.
func labelsEnd(text string) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i + 1
		}
	}
	return -1
}

// metricOf returns the name of the metric that a sample belongs to.
func metricOf(known map[string]*Metric, sample string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, ok := strings.CutSuffix(sample, suffix); ok && known[name] != nil && known[sample] == nil {
			return name
		}
	}
	return sample
}
