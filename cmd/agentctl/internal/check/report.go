package check

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

const (
	// maxLines is the maximum number of findings that are printed for people.
	maxLines = 100
	// maxListed is the maximum number of findings that are written for programs.
	maxListed = 1000
)

// kind is what a finding is about, the most important first.
type kind int

const (
	mistakes kind = iota
	waits
	warnings
	kinds
)

func kindOf(f outcome.Finding) kind {
	switch {
	case f.Level == outcome.Warning:
		return warnings
	case f.State == "PENDING":
		return waits
	}
	return mistakes
}

// report is the result for a file.
type report struct {
	file string
	list []outcome.Finding
	more [kinds]int // findings that are only counted
}

// add adds findings. One that stands for others is counted as these.
func (r *report) add(list ...outcome.Finding) {
	for _, f := range list {
		if f.More > 0 {
			r.more[kindOf(f)] += f.More
		} else {
			r.list = append(r.list, f)
		}
	}
}

// addErrors adds the errors in a document.
func (r *report) addErrors(errs []*document.Error) {
	for _, e := range errs {
		r.add(outcome.Finding{File: e.File, Line: e.Line, Column: e.Column, Field: e.Field, Message: e.Msg, Text: e.Error(), More: e.More})
	}
}

// limited returns the first findings, the mistakes before the others if there are too many, and the
// number of the others. It changes the list.
func limited(list []outcome.Finding, limit int, more [kinds]int) ([]outcome.Finding, [kinds]int) {
	if len(list) <= limit {
		return list, more
	}
	slices.SortStableFunc(list, func(a, b outcome.Finding) int { return cmp.Compare(kindOf(a), kindOf(b)) })
	for _, f := range list[limit:] {
		more[kindOf(f)]++
	}
	return list[:limit:limit], more
}

// moreText says how many findings of a kind are not shown.
func moreText(k kind, n int) string {
	one, many := "mistake", "mistakes"
	switch k {
	case waits:
		one, many = "item that waits", "items that wait"
	case warnings:
		one, many = "likely mistake", "likely mistakes"
	}
	if n == 1 {
		return "and 1 more " + one
	}
	return fmt.Sprintf("and %d more %s", n, many)
}

// print prints a report and returns the verdict.
func (o *options) print(r *report, verdict error) error {
	if o.Format == "" {
		o.printText(r)
		return verdict
	}
	list, more := limited(r.list, maxListed, r.more)
	for k, n := range more {
		if n == 0 {
			continue
		}
		f := outcome.Finding{File: r.file, Message: moreText(kind(k), n), More: n}
		switch kind(k) {
		case waits:
			f.State = "PENDING"
		case warnings:
			f.Level = outcome.Warning
		}
		list = append(list, f)
	}
	if list == nil {
		list = []outcome.Finding{}
	}
	return errors.Join(o.Write(o.Format, list), verdict)
}

// printText prints the first findings for people. It groups those that say the same, and omits the items that only
// wait for another one.
func (o *options) printText(r *report) {
	list, common, kinds := []outcome.Finding{}, map[string]int{}, map[string]kind{} // number of findings, and what they are
	for _, f := range r.list {
		if f.Because != "" {
			continue
		}
		kinds[f.Common] = kindOf(f)
		if common[f.Common]++; f.Common == "" || common[f.Common] <= outcome.MaxPerReason {
			list = append(list, f)
		}
	}
	list, more := limited(list, maxLines, r.more)
	shown := map[string]int{}
	for _, f := range list {
		shown[f.Common]++
		fmt.Fprintln(o.Err, f.Text)
	}
	for _, what := range slices.Sorted(maps.Keys(common)) {
		beyond := common[what] - outcome.MaxPerReason
		switch {
		case what == "" || beyond <= 0:
		case shown[what] > 0:
			fmt.Fprintf(o.Err, "and %d more: %s\n", beyond, what)
		default:
			more[kinds[what]] += beyond
		}
	}
	for k, n := range more {
		if n > 0 {
			fmt.Fprintln(o.Err, moreText(kind(k), n))
		}
	}
}
