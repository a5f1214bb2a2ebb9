package ipconv

import (
	"fmt"
	"strings"

	"go.fd.io/govpp/binapi/fib_types"
)

// PathSettings returns the settings of a path that no item has a field for; "": it has none.
func PathSettings(p fib_types.FibPath) string {
	var all []string
	if p.Flags != 0 {
		all = append(all, fmt.Sprint("flags ", p.Flags))
	}
	for n, l := range p.LabelStack[:min(int(p.NLabels), len(p.LabelStack))] {
		if l.TTL != 0 || l.Exp != 0 || l.IsUniform != 0 {
			all = append(all, fmt.Sprintf("label_stack[%d] ttl %d exp %d is_uniform %d", n, l.TTL, l.Exp, l.IsUniform))
		}
	}
	return strings.Join(all, " ")
}

// PlainPathSettings is PathSettings for items whose paths have no types, tables and labels.
func PlainPathSettings(p fib_types.FibPath) string {
	var all []string
	if p.Type != fib_types.FIB_API_PATH_TYPE_NORMAL && p.Type != fib_types.FIB_API_PATH_TYPE_DVR {
		all = append(all, fmt.Sprint("type ", p.Type))
	}
	if p.TableID != 0 {
		all = append(all, fmt.Sprint("table_id ", p.TableID))
	}
	if p.NLabels != 0 {
		all = append(all, fmt.Sprint("n_labels ", p.NLabels))
	}
	if settings := PathSettings(p); settings != "" {
		all = append(all, settings)
	}
	return strings.Join(all, " ")
}
