package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metric is a metric of the agent with its current samples.
type Metric struct {
	Name    string
	Type    string // counter, gauge, histogram, summary, untyped
	Help    string
	Samples []Sample
}

// Sample is one value of a metric. The samples of a histogram or summary have the
// name of the metric with the suffix _bucket, _sum or _count.
type Sample struct {
	Name   string
	Labels string `json:",omitempty"` // in the text format: {code="200"}
	Value  string
}

// All returns all metrics of the agent, sorted by name.
func (s MetricsService) All(ctx context.Context) ([]Metric, error) {
	text, err := s.c.get(ctx, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	all, err := parseMetrics(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("GET /metrics: %w", err)
	}
	return all, nil
}

func parseMetrics(text io.Reader) ([]Metric, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, err
	}
	all := make([]Metric, 0, len(families))
	for _, name := range slices.Sorted(maps.Keys(families)) {
		family := families[name]
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{}, family)
		if err != nil {
			return nil, err
		}
		m := Metric{Name: name, Type: strings.ToLower(family.GetType().String()), Help: family.GetHelp(), Samples: make([]Sample, len(samples))}
		for i, s := range samples {
			m.Samples[i] = Sample{
				Name: string(s.Metric[model.MetricNameLabel]), Labels: labelsText(s.Metric),
				Value: strconv.FormatFloat(float64(s.Value), 'g', -1, 64),
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// labelsText returns the labels without the name of the metric, sorted by name, as
// {code="200",method="get"}; it returns an empty string if there are none.
func labelsText(metric model.Metric) string {
	labels := make([]string, 0, len(metric))
	for name, value := range metric {
		if name != model.MetricNameLabel {
			labels = append(labels, fmt.Sprintf("%s=%q", name, string(value)))
		}
	}
	if len(labels) == 0 {
		return ""
	}
	slices.Sort(labels)
	return "{" + strings.Join(labels, ",") + "}"
}
