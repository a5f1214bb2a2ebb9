package cli

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// shells complete a command line, which is given word by word, with the script that agentctl
// prints for them, and print the candidates. What bash-completion and the completion system of
// zsh do around the script is replaced.
var shells = map[string]string{
	"bash": `_init_completion() { words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}; }
compopt() { :; }
source <(agentctl completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
__start_agentctl agentctl "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"`,
	"zsh": `compdef() { :; }
_describe() { print -l -- $completions; }
eval "$(agentctl completion zsh)"
words=("$@") CURRENT=$#
_agentctl`,
	"fish": `agentctl completion fish | source
complete -C "$argv"`,
}

// The scripts of all shells complete with what the agent has, models of its own included.
func TestShellCompletion(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	infratest.Fatal(t, err)
	dir := t.TempDir()
	wrapper := "#!/bin/sh\n" + asProgram + "=1 exec '" + self + "' \"$@\"\n"
	infratest.Fatal(t, infratest.Script(filepath.Join(dir, "agentctl"), wrapper))
	arguments := map[string]func(script string, words []string) []string{
		"bash": func(script string, words []string) []string {
			return append([]string{"--norc", "-c", script, "bash"}, words...)
		},
		"zsh": func(script string, words []string) []string {
			return append([]string{"-f", "-c", script, "zsh"}, words...)
		},
		"fish": func(script string, words []string) []string {
			return append([]string{"--no-config", "-c", script}, words...)
		},
	}
	agents := map[string]*fakeAgent{"vpp-agent": newFakeAgent(t), "custom": newCustomAgent(t)}
	for shell, script := range shells {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("SKIPPED: there is no %s here (Debian: apt install %s); its completion is not tested", shell, shell)
			}
			for _, c := range []struct{ agent, line, want, not string }{
				{"vpp-agent", "agentctl dump vpp.l2.", "vpp.l2.bridge-domain", "vpp.interfaces"},
				{"vpp-agent", "agentctl get vpp.l2.bridge-domain/", "vpp.l2.bridge-domain/bd1", ""},
				{"vpp-agent", "agentctl explain vpp.interfaces.mem", "vpp.interfaces.memif", "vpp.interfaces.mtu"},
				{"vpp-agent", "agentctl explain vpp.interfaces.memif.s", "vpp.interfaces.memif.secret", ""},
				{"vpp-agent", "agentctl values --output y", "yaml", ""},
				{"vpp-agent", "agentctl app", "apply", "plan"},
				{"vpp-agent", "agentctl values --state RETR", "RETRYING", "PENDING"},
				{"vpp-agent", "agentctl log set gov", "govpp", "default"},
				{"vpp-agent", "agentctl log set govpp d", "debug", "info"},
				{"vpp-agent", "agentctl config history ", "7", "99"},
				{"vpp-agent", "agentctl wait --txn ", "3", ""},
				{"vpp-agent", "agentctl rollback --to 1", "1", "2"},
				{"vpp-agent", "agentctl rollback ", "3", "99"},
				{"vpp-agent", "agentctl graph --txn ", "5", ""},
				{"custom", "agentctl dump mi", "mine.hosts", "vpp.interfaces"},
				{"custom", "agentctl explain mine.hosts.", "mine.hosts.seconds", ""},
			} {
				host, port, err := net.SplitHostPort(agents[c.agent].Listener.Addr().String())
				infratest.Fatal(t, err)
				cmd := exec.CommandContext(t.Context(), shell, arguments[shell](script, strings.Split(c.line, " "))...)
				cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "AGENT_HOST=" + host, "HTTP_PORT=" + port}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v\n%s", c.line, err, out)
				}
				var candidates []string
				for line := range strings.Lines(string(out)) {
					candidate, _, _ := strings.Cut(strings.TrimSpace(line), "\t") // fish and zsh add descriptions
					candidate, _, _ = strings.Cut(candidate, ":")
					candidates = append(candidates, strings.Fields(candidate + " .")[0])
				}
				if !slices.Contains(candidates, c.want) || slices.Contains(candidates, c.not) {
					t.Errorf("%s: candidates %q, expected %q and not %q", c.line, candidates, c.want, c.not)
				}
			}
		})
	}
}

// The last transactions come first, with what they were, and none after a number.
func TestTransactionCompletion(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	r := f.run(t, nil, "__complete", "config", "history", "")
	want := "7\tstatus sync, 1s ago, running\n5\tconfig change, 10s ago, reverted in part: 2 of 7 values could not be\n" +
		"4\tretry #1 for 3, 19s ago, ok\n3\tconfig change, 20s ago, error\n2\tstatus update, 30s ago, ok\n1\tconfig replace, 40s ago, ok\n:36\n"
	if r.code != 0 || r.out != want || f.asked(0).query.Get("limit") != "100" {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
	if r := f.run(t, nil, "__complete", "config", "history", "7", ""); strings.Contains(r.out, "7") {
		t.Errorf("a second number is offered: %s", r.out)
	}
	f.Close()
	if r := f.run(t, nil, "__complete", "rollback", "--to", ""); r.out != ":36\n" {
		t.Errorf("without an agent: exit %d, %s%s", r.code, r.out, r.err)
	}
}

// The exit codes are those that the help of agentctl lists.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	for meaning, c := range map[string]struct {
		line string
		code int
	}{
		"0 success":                       {"log list", 0},
		"1 error":                         {"config history 99", 1},
		"2 something was found":           {"drift", 2},
		"125 the command line is invalid": {"drift --nosuch", 125},
	} {
		if r := f.run(t, nil, strings.Fields(c.line)...); r.code != c.code {
			t.Errorf("agentctl %s: exit %d, expected %d\n%s%s", c.line, r.code, c.code, r.out, r.err)
		}
		if help := Commands().Long; !strings.Contains(help, meaning) {
			t.Errorf("the help lacks %q:\n%s", meaning, help)
		}
	}
}
