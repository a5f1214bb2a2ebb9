package holder

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Process identifies this process among all processes of all machines: the boot of the machine, the PID
// namespace, the PID and the time when it started. It is empty if the system does not provide that.
func Process() string {
	where, err := processSpace()
	if err != nil {
		return ""
	}
	started, err := startTime(os.Getpid())
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s/%d/%s", where, os.Getpid(), started)
}

// ended reports that a process of Process ended. It is false if that cannot be determined, because the
// process belongs to another machine or another PID namespace.
func ended(process string) bool {
	where, err := processSpace()
	if err != nil {
		return false
	}
	rest, here := strings.CutPrefix(process, where+"/")
	text, started, ok := strings.Cut(rest, "/")
	pid, err := strconv.Atoi(text)
	if !here || !ok || err != nil {
		return false
	}
	now, err := startTime(pid)
	return os.IsNotExist(err) || err == nil && now != started
}

// processSpace identifies the boot of the machine and the PID namespace.
func processSpace() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(boot)) + "/" + strings.Trim(namespace, "pid:[]"), nil
}

// startTime returns when a process started, in ticks since the boot of the machine.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const startField = 19 // field 22 of proc(5), counted from the state
	if len(fields) <= startField {
		return "", fmt.Errorf("/proc/%d/stat: %q: expected the time of the start", pid, stat)
	}
	return string(fields[startField]), nil
}
