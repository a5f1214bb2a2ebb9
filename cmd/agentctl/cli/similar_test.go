package cli

import (
	"strings"
	"testing"
)

// Every command that takes the name of an item, model, transaction or source answers a missing one with
// the similar names, in the same words.
func TestSimilarNames(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	for _, c := range []struct{ line, want string }{
		{"get vpp.interfaces/lop7", "did you mean vpp.interfaces/loop7?"},
		{"values vpp.interfaces/lop7", "did you mean vpp.interfaces/loop7?"},
		{"why vpp.interfaces/lop7", "did you mean vpp.interfaces/loop7?"},
		{"wait vpp.interfaces/lop7", "did you mean vpp.interfaces/loop7?"},
		{"sources vpp.interfaces/lop7", "did you mean vpp.interfaces/loop7?"},
		{"edit vpp.interfaces/lop7", "did you mean vpp.interfaces/loop7?"},
		{"explain policer", "did you mean vpp.policer.policer or vpp.policer.interface?"},
		{"explain vpp.interfaces.enabld", `did you mean "enabled"?`},
		{"generate vpp.interface", `did you mean`},
		{"dump vpp.interface", `did you mean`},
		{"values vpp.interface", `did you mean`},
	} {
		r := f.run(t, nil, strings.Fields(c.line)...)
		if !strings.Contains(r.out+r.err, c.want) {
			t.Errorf("agentctl %s: no %q in\n%s%s", c.line, c.want, r.out, r.err)
		}
	}
}
