package nltest

import (
	"errors"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// testNFTables: tables are replaced as a whole or not at all, and tried without an effect.
func testNFTables(t *testing.T, w *World) {
	own, a, ctx := w.Open(t, ""), w.Make(t, "a"), t.Context()
	table, other := netlinkapi.NFTable{Family: "inet", Name: "t"}, netlinkapi.NFTable{Family: "ip", Name: "t"}
	const first, printed = "chain c {\n counter accept\n}\ncomment \"mine\"", "chain c {\n\tcounter packets 0 bytes 0 accept\n}\n"
	_, err := own.NFTable(ctx, table, false)
	if errors.Is(err, netlinkapi.ErrNoProgram) {
		t.Skipf("SKIPPED: nftables is not tested on the kernel: %v", err)
	}
	expect(t, "list a table that is not there", err, netlinkapi.ErrNotFound)
	expect(t, "delete a table that is not there", own.DeleteNFTable(ctx, table), netlinkapi.ErrNotFound)
	is := func(state bool, want string) {
		t.Helper()
		text, err := own.NFTable(ctx, table, state)
		must(t, err)
		if rest := withoutComment(text); rest != want {
			t.Errorf("the table is\n%s\nexpected\n%s", rest, want)
		}
	}
	must(t, own.SetNFTable(ctx, table, first))
	is(true, printed)
	is(false, "chain c {\n\tcounter accept\n}\n")
	must(t, own.SetNFTable(ctx, other, first))
	tried, err := own.TryNFTable(ctx, table, "chain d {\n drop\n}\nchain c {\n counter jump d\n}", true)
	must(t, err)
	if want := "chain d {\n\tdrop\n}\nchain c {\n\tcounter packets 0 bytes 0 jump d\n}\n"; tried != want {
		t.Errorf("tried, the table is\n%s\nexpected\n%s", tried, want)
	}
	for content, line := range map[string]int{"chain c {\n accept\n}\nchain d {\n bogus\n}": 5, "chain c {\n accept\n jump none\n}": 3} {
		var refused *netlinkapi.ContentError
		if err := own.SetNFTable(ctx, table, content); !errors.As(err, &refused) || refused.Line != line {
			t.Errorf("%q: error is %v, expected one about line %d", content, err, line)
		}
		is(true, printed)
	}
	_, err = a.NFTable(ctx, table, false)
	expect(t, "list the table of another namespace", err, netlinkapi.ErrNotFound)
	must(t, own.DeleteNFTable(ctx, table))
	_, err = own.NFTable(ctx, other, false)
	must(t, err)
}

// withoutComment drops the comment, whose place in the table is not told.
func withoutComment(text string) string {
	var rest string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "comment ") {
			rest += line
		}
	}
	return rest
}
