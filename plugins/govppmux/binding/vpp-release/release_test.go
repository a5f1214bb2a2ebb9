package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The API files of testdata/vpp use every part of the language. The CRCs in
// testdata/messages.tsv are those that vppapigen of VPP 26.06 prints for them.

// edits are files of the tree with changes: the text to replace and the new one. An empty
// old text stands for the whole file, an empty file for none.
type edits map[string][2]string

// copyTree makes a tree of testdata/vpp with changes.
func copyTree(t *testing.T, changes edits) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/vpp")); err != nil {
		t.Fatal(err)
	}
	for name, change := range changes {
		file := filepath.Join(dir, filepath.FromSlash(name))
		text, err := os.ReadFile(file)
		if err != nil && change[0] != "" {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), change[0]) {
			t.Fatalf("%s has no %q", name, change[0])
		}
		if change[0] == "" {
			text = nil
		}
		write(t, file, strings.Replace(string(text), change[0], change[1], 1))
	}
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// generate runs the command.
func generate(t *testing.T, tables string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(append([]string{"--tables", tables}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

// must runs the command, which has to succeed, and returns what it printed.
func must(t *testing.T, tables string, args ...string) string {
	t.Helper()
	code, stdout, stderr := generate(t, tables, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("vpp-release %v: status %d, %s", args, code, stderr)
	}
	return stdout
}

func TestCRCs(t *testing.T) {
	t.Parallel()
	tables := t.TempDir()
	out := must(t, tables, "--src", "testdata/vpp", "v26.02")
	if want := "26.02: 15 messages in 4 files\n"; out != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	if got, want := read(t, filepath.Join(tables, messagesFile)), read(t, "testdata/messages.tsv"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A history of releases: a message is added, removed, added again; releases arrive in any
// order, and again.
func TestHistory(t *testing.T) {
	t.Parallel()
	with := copyTree(t, nil)
	without := copyTree(t, edits{
		"src/plugins/shop/shop.api": {"autoreply define shop_close\n{\n  u32 client_index;\n  u32 context;\n};\n", ""},
		"src/vnet/lamp/lamp.api":    {"", "define lamp_add_del { u32 context; };"},
	})
	newer := copyTree(t, edits{"src/vnet/lamp/lamp.api": {"define lamp_dump\n", "autoreply define lamp_add_del_v3 { u32 context; };\ndefine lamp_dump\n"}})
	tables := t.TempDir()
	must(t, tables, "--src", with, "v25.10")
	must(t, tables, "--src", newer, "v26.10-rc0")
	if code, _, stderr := generate(t, tables, "--src", without, "v26.06"); code != 1 || !strings.Contains(stderr, "; to accept the change, run again with --changed lamp_add_del (make: CHANGED=lamp_add_del)") {
		t.Errorf("a changed message: status %d, %s", code, stderr)
	}
	must(t, tables, "--src", without, "--changed", "lamp_add_del", "v26.06")
	must(t, tables, "--src", with, "v26.02")
	must(t, tables, "--src", without, "v26.06") // again: its change is known

	got := read(t, filepath.Join(tables, messagesFile))
	for _, want := range []string{
		"# VPP releases: 25.10 26.02 26.06 26.10\n",
		"\nlamp_add_del\t54f18321\t25.10\t26.02\nlamp_add_del\t8c1bbc26\t26.06\t26.06\nlamp_add_del\t54f18321\t26.10\t-\n",
		"\nshop_close\t51077d14\t25.10\t26.02\nshop_close\t51077d14\t26.10\t-\n",
		"\nshop_open\t9b1f403d\t25.10\t-\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}

// The changes of a release are listed, with files.
func TestReport(t *testing.T) {
	t.Parallel()
	tables := t.TempDir()
	must(t, tables, "--src", "testdata/vpp", "v26.02")
	next := copyTree(t, edits{
		"src/plugins/shop/shop.api":       {"shop_close", "shop_shut"},
		"src/vnet/lamp/lamp_types.api":    {"LAMP_COLOR_BLUE", "LAMP_COLOR_GREEN [backwards_compatible],\n  LAMP_COLOR_BLUE"},
		"src/vlibmemory/memclnt.api":      {"u16 count;", "u32 count;"},
		"src/plugins/lamp_shop/extra.api": {"", "import \"vnet/lamp/lamp_types.api\";\n"},
	})
	out := must(t, tables, "--src", next, "--changed", "sockclnt_create_reply", "v26.06")
	const want = `26.06: 15 messages in 5 files; since 26.02: 2 added, 2 removed, 1 changed
  added shop_shut (src/plugins/shop/shop.api)
  added shop_shut_reply (src/plugins/shop/shop.api)
  removed shop_close
  removed shop_close_reply
  changed sockclnt_create_reply (src/vlibmemory/memclnt.api): CRC `
	if !strings.HasPrefix(out, want) {
		t.Errorf("printed\n%s\nwant\n%s", out, want)
	}
	if again := must(t, tables, "--src", next, "v26.10"); again != "26.10: 15 messages in 5 files; since 26.06: 0 added, 0 removed, 0 changed\n" {
		t.Errorf("a release without changes: printed\n%s", again)
	}
	newer := copyTree(t, edits{"src/vnet/lamp/lamp.api": {"define lamp_dump\n", "autoreply define lamp_add_del_v3 { u32 context; };\ndefine lamp_dump\n"}})
	if out := must(t, t.TempDir(), "--src", "testdata/vpp", "v26.02"); strings.Contains(out, "variant") {
		t.Errorf("the first release: printed\n%s", out)
	}
	tables = t.TempDir()
	must(t, tables, "--src", "testdata/vpp", "v26.02")
	out = must(t, tables, "--src", newer, "v26.06")
	for _, want := range []string{
		"  added lamp_add_del_v3 (src/vnet/lamp/lamp.api), a new variant of lamp_add_del_v2\n",
		"  added lamp_add_del_v3_reply (src/vnet/lamp/lamp.api), a new variant of lamp_add_del_v2_reply\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("printed\n%s\nwant\n%s", out, want)
		}
	}
}

// A tag is read from the repository, with a work tree or bare, whatever is checked out.
func TestGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT CHECKED THAT A TAG IS READ FROM A REPOSITORY: needs the command git")
	}
	repo := copyTree(t, nil)
	runGit := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	runGit("init", "-q")
	runGit("add", ".")
	runGit("commit", "-q", "-m", "first")
	runGit("tag", "v26.02")
	runGit("rm", "-q", "-r", "src/vnet")
	runGit("rm", "-q", "-r", "src/plugins")
	runGit("commit", "-q", "-m", "second")
	runGit("tag", "v26.06")
	runGit("rm", "-q", "-r", "src")
	runGit("commit", "-q", "--allow-empty", "-m", "third")
	runGit("tag", "v26.10")
	bare := filepath.Join(t.TempDir(), "bare")
	runGit("clone", "-q", "--bare", repo, bare)

	for _, src := range []string{repo, bare} {
		tables := t.TempDir()
		must(t, tables, "--src", src, "v26.02")
		if got, want := read(t, filepath.Join(tables, messagesFile)), read(t, "testdata/messages.tsv"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", src, got, want)
		}
		if out := must(t, tables, "--src", src, "v26.06"); !strings.HasPrefix(out, "26.06: 2 messages in 1 files") {
			t.Errorf("%s: printed %s", src, out)
		}
		for tag, want := range map[string]string{
			"v26.10": src + " at v26.10: no .api files below src: expected the sources of VPP",
			"v27.02": src + " at v27.02: the repository has no tag v27.02: fetch it, or name another",
			"26.02 ": "has no tag 26.02",
			"latest": `tag "latest": expected v and a release, such as v26.06`,
		} {
			if code, _, stderr := generate(t, tables, "--src", src, tag); code != 1 || !strings.Contains(stderr, want) {
				t.Errorf("%s: status %d, %q, want %q", tag, code, stderr, want)
			}
		}
	}

	// An object of the tag is missing.
	object, err := exec.Command("git", "-C", bare, "rev-parse", "v26.02:src/plugins/shop/shop.api").Output()
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(object))
	if err := os.Remove(filepath.Join(bare, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := generate(t, t.TempDir(), "--src", bare, "v26.02")
	if code != 1 || !strings.Contains(stderr, "src/plugins/shop/shop.api: the repository is damaged or incomplete") {
		t.Errorf("a damaged repository: status %d, %s", code, stderr)
	}
}

// Whatever is wrong with a tree is reported with file, line and message, and nothing is
// written.
func TestFaults(t *testing.T) {
	t.Parallel()
	const (
		core  = "src/vlibmemory/memclnt.api"
		lamp  = "src/vnet/lamp/lamp.api"
		types = "src/vnet/lamp/lamp_types.api"
		shop  = "src/plugins/shop/shop.api"
	)
	for _, c := range []struct{ file, old, text, want string }{
		// Damaged files.
		{shop, "{\n", "{ {\n", `:5: shop_open: expected the type of a field, found "{"`},
		{shop, "shop_open\n{", "shop_open\n", `:6: expected "{", found "u32"`},
		{shop, "shop_open\n", "\n", `:5: expected a name, found "{"`},
		{shop, "light;\n};", "light\n};", `:9: shop_open: expected ";", found "}"`},
		{shop, "", "autoreply define shop_open {\n  u32", `:2: shop_open: expected the name of a field, found the end of the file`},
		{shop, "", "<!DOCTYPE html>\n<p>", `:1: unexpected text "<!DOCTYPE html>"`},
		{shop, "", "int main;", `:1: expected a statement such as define or typedef, found "int"`},
		{shop, "light;", "light /* no end;", `:8: unexpected text "/* no end;"`},
		{shop, "\"0.0.1\"", "", `:1: expected the value of an option, found ";"`},
		{shop, "option version", "option 1", `:1: expected the name of an option, found "1"`},
		{shop, "\"vnet/lamp/lamp_types.api\"", "lamp", `:2: expected the path of a file in quotes, found "lamp"`},
		{shop, "lamp_types", "light", ":2: vnet/lamp/light.api: the imported file is missing"},
		{shop, "lamp_light_t", "light_t", ":4: shop_open: field light: type vl_api_light_t is not declared before it"},
		{lamp, "colors[count]", "colors[number]", ":48: lamp_event: field colors: its length number is not a field before it"},
		{lamp, "tag[]", "tag", ":40: lamp_details: field tag: a string needs a length in brackets"},
		{lamp, "[count]", "[]", ":48: lamp_event: field colors: an array needs a length in brackets"},
		{lamp, "[count]", "[-1]", `:48: lamp_event: field colors: expected the length of an array, found "-1"`},
		{lamp, "[default=true]", "[default=true", `:11: lamp_add_del: expected "]" behind options, found ";"`},
		{lamp, "  \"/err/lamp\" \"lamp\";\n};\n", "", `:73: expected "}", found the end of the file`},
		{lamp, "service {", "service rpc", `:59: expected "{", found "rpc"`},
		{types, "WHITE = 1", "WHITE = many", `:9: lamp_color: expected a number, found "many"`},
		{types, "WHITE = 1", "WHITE = 0x10000000000000000", ":9: lamp_color: LAMP_COLOR_WHITE: "},
		{types, "WHITE = 1,", "WHITE = 1", `:10: lamp_color: expected ",", found "LAMP_COLOR_RED"`},
		{types, "union lamp_light\n", "union lamp_light { u8 x; };\nunion lamp_light\n", ":29: lamp_light: type vl_api_lamp_light_t is already declared in " + types},
		{types, "// Types", "import \"vnet/lamp/lamp_types.api\"; // Types", ": the file imports itself"},
		{types, "u64 raw", "vl_api_lamp_light_t raw", ":28: lamp_light: field raw: type vl_api_lamp_light_t is not declared before it"},
		{lamp, "lamp_dump\n", "shop_close\n", ": message shop_close is already defined in src/"},
		{lamp, "", "define lamp_event { u32 context; }; define lamp_event { u32 context; };", ":1: lamp_event: message lamp_event is already defined in " + lamp},
		// Another program's tree.
		{core, "", "", ": src/vlibmemory/memclnt.api is missing or empty: expected the sources of VPP"},
		// Fields that changed.
		{shop, "vl_api_lamp_light_t light", "u64 light", ": message shop_open: the name is the same, but the fields or their types changed: CRC 9b1f403d in 26.02, "},
		{types, "u64 raw", "u32 raw", lamp + ": message lamp_add_del_v2: the name is the same, but the fields or their types changed: CRC fffb187d in 26.02, "},
		{types, "BLUE [backwards_compatible]", "BLUE", lamp + ": message lamp_event: the name is the same, but the fields or their types changed: "},
	} {
		tables := t.TempDir()
		must(t, tables, "--src", "testdata/vpp", "v26.02")
		before := files(t, tables)
		code, stdout, stderr := generate(t, tables, "--src", copyTree(t, edits{c.file: {c.old, c.text}}), "v26.06")
		if code != 1 || stdout != "" || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, c.file) && c.file != types {
			t.Errorf("%q in %s: status %d, %s%s\nwant %s", c.text, c.file, code, stdout, stderr, c.want)
		}
		if after := files(t, tables); after != before {
			t.Errorf("%s: the tables changed:\n%s", c.want, after)
		}
	}
}

// Wrong arguments and damaged tables are reported, too.
func TestArguments(t *testing.T) {
	t.Parallel()
	const head = "# VPP releases: 25.10 26.02\n"
	for _, c := range []struct {
		args     string
		messages string
		code     int
		want     string
	}{
		{"v26.02", "", 2, "--src is missing"},
		{"--src testdata/vpp", "", 2, "missing argument: a tag of VPP such as v26.06"},
		{"--src testdata/vpp --release v26.02", "", 2, "unknown flag: --release"},
		{"--src testdata/vpp new", "", 1, `tag "new": expected v and a release, such as v26.06`},
		{"--src testdata/nothing v26.02", "", 1, "testdata/nothing: no .api files below src"},
		{"--src testdata/vpp --changed shop_open v26.02", "", 1, "--changed shop_open: the message has the same CRC as in the release before"},
		{"--src testdata/vpp v26.02", "# VPP releases: now\n", 1, `messages.tsv:1: VPP version "now"`},
		{"--src testdata/vpp v26.02", head + "a\t01234567\t25.10", 1, "messages.tsv:2: 3 columns, expected 4"},
		{"--src testdata/vpp v26.02", head + "a\t01234567\t26.02\t25.10", 1, "messages.tsv:2: a: releases 26.02 to 25.10 are not in the first line in this order"},
		{"--src testdata/vpp v26.02", head + "a\t01234567\t25.10\t26.02\na\t7\t26.02\t26.02", 1, "messages.tsv:3: a: release 26.02 has two CRCs"},
	} {
		tables := t.TempDir()
		if c.messages != "" {
			write(t, filepath.Join(tables, messagesFile), c.messages)
		}
		before := files(t, tables)
		code, _, stderr := generate(t, tables, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d, %s\nwant %d, %s", c.args, code, stderr, c.code, c.want)
		}
		if after := files(t, tables); after != before {
			t.Errorf("%s: the tables changed:\n%s", c.args, after)
		}
	}
}

// A table that cannot be replaced stays, and nothing else is left.
func TestNothingIsHalfWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// A directory in the way of the table.
	write(t, filepath.Join(dir, "a", "x"), "old")
	if err := replaceFile(filepath.Join(dir, "a"), []byte("new")); err == nil {
		t.Error("no error")
	}
	if got := read(t, filepath.Join(dir, "a", "x")); got != "old" {
		t.Errorf("got %q", got)
	}
}

// The table in the repository is as the command writes it: a line that was edited by
// hand is noticed.
func TestCommittedTable(t *testing.T) {
	t.Parallel()
	const dir = "../releases/"
	messages, err := readMessages(dir + messagesFile)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(messages.text()); got != read(t, dir+messagesFile) {
		t.Errorf("%s is not as the command writes it:\n%s", messagesFile, got)
	}
}

// FuzzMessages: any text is read or refused.
func FuzzMessages(f *testing.F) {
	err := filepath.WalkDir("testdata/vpp", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		f.Add(string(text))
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := messagesOf(map[string]string{"a.api": text})
		if err == nil {
			return
		}
		if !strings.HasPrefix(err.Error(), "src/a.api") {
			t.Errorf("%d messages, and an error without the file: %v", len(found), err)
		}
	})
}

// files are the names and texts of all files of a directory.
func files(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all.WriteString(path + "\n" + read(t, filepath.Join(dir, path)) + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
