package deploy

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// commands are the command lines of ours in a unit.
func commands(t *testing.T, unit string) (list [][]string) {
	t.Helper()
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), "=")
		if key == "ExecStart" || key == "ExecStartPre" {
			list = append(list, strings.Fields(value))
		}
	}
	if len(list) != 2 {
		t.Errorf("%s: commands %q", unit, list)
	}
	return list
}

func TestSystemdCommands(t *testing.T) {
	t.Parallel()
	configMap, _ := read(t)
	dir := write(t, configMap)
	for _, unit := range []string{"systemd/vpp-agent.service", "systemd/vpp-agent-init.service", "systemd/tenuto-controller.service"} {
		for _, command := range commands(t, unit) {
			checkCommand(t, dir, command)
		}
	}
}

// systemd knows all that is in the units. The programs need not be installed for
// that: others stand in for them.
func TestSystemdVerifies(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIPPED: there is no systemd-analyze here (Debian: apt install systemd); the units are not verified by systemd")
	}
	for _, unit := range []string{"vpp-agent.service", "vpp-agent-init.service", "tenuto-controller.service"} {
		file := standIn(t, unit)
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput()
		if err != nil || strings.Contains(string(out), unit) {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}

// standIn is a copy of a unit whose programs are installed everywhere.
func standIn(t *testing.T, unit string) (file string) {
	t.Helper()
	text, err := os.ReadFile("systemd/" + unit)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"/usr/bin/vpp-agent-init ", "/usr/bin/vpp-agent ", "/usr/bin/tenuto-controller "} {
		text = bytes.ReplaceAll(text, []byte(program), []byte("/bin/true "))
	}
	file = filepath.Join(t.TempDir(), unit)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// systemd rates what a compromised service could do, from 0 to 10; the exposure must
// not grow. The agent needs most of the rest: it configures the network as root.
func TestSystemdExposure(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIPPED: there is no systemd-analyze here (Debian: apt install systemd); the exposure of the units is not rated")
	}
	level := regexp.MustCompile(`exposure level for \S+: ([0-9.]+)`)
	for unit, limit := range map[string]float64{"vpp-agent.service": 5.3, "vpp-agent-init.service": 7.3, "tenuto-controller.service": 2.0} {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=yes", "--no-pager", standIn(t, unit)).CombinedOutput()
		m := level.FindStringSubmatch(string(out))
		if err != nil || m == nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
			continue
		}
		if got, err := strconv.ParseFloat(m[1], 64); err != nil || got > limit {
			t.Errorf("%s: exposure %v, want at most %v: %v\n%s", unit, got, limit, err, out)
		}
	}
}

// settings returns the settings of a unit.
func settings(t *testing.T, unit string) map[string]string {
	t.Helper()
	text, err := os.ReadFile("systemd/" + unit)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([A-Za-z]+)=(.*)$`).FindAllStringSubmatch(string(text), -1) {
		found[m[1]] = m[2]
	}
	return found
}

// Other processes have to see the network namespaces that the agent mounts, so no
// setting may give it a mount namespace (exec_needs_mount_namespace of systemd).
func TestUnitsShareTheMounts(t *testing.T) {
	t.Parallel()
	private := []string{
		"RootDirectory", "RootImage", "ReadOnlyPaths", "ReadWritePaths", "InaccessiblePaths", "ExecPaths", "NoExecPaths", "BindPaths",
		"BindReadOnlyPaths", "TemporaryFileSystem", "MountImages", "ExtensionImages", "ExtensionDirectories", "PrivateTmp", "PrivateDevices",
		"PrivateMounts", "PrivateIPC", "PrivateNetwork", "ProtectSystem", "ProtectHome", "ProtectKernelTunables", "ProtectKernelModules",
		"ProtectKernelLogs", "ProtectControlGroups", "ProtectProc", "ProcSubset", "MountFlags", "MountAPIVFS", "DynamicUser", "LogNamespace",
	}
	for _, unit := range []string{"vpp-agent.service", "vpp-agent-init.service"} {
		for name := range settings(t, unit) {
			if slices.Contains(private, name) {
				t.Errorf("%s: %s gives the service a mount namespace", unit, name)
			}
		}
	}
}

// The agent notifies systemd. As a child of vpp-agent-init it does not, because
// systemd would take its end for the end of the service.
func TestUnitsNotify(t *testing.T) {
	t.Parallel()
	agent, both := settings(t, "vpp-agent.service"), settings(t, "vpp-agent-init.service")
	if agent["Type"] != "notify" || agent["NotifyAccess"] != "main" || both["Type"] != "exec" || both["NotifyAccess"] != "" {
		t.Errorf("types %q (access %q) and %q (access %q)", agent["Type"], agent["NotifyAccess"], both["Type"], both["NotifyAccess"])
	}
	for _, capability := range []string{"CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_NET_BROADCAST", "CAP_SYS_ADMIN", "CAP_SYS_PTRACE"} {
		if !slices.Contains(strings.Fields(agent["CapabilityBoundingSet"]), capability) {
			t.Errorf("vpp-agent.service does not have %s", capability)
		}
	}
}
