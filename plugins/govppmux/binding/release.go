package binding

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"go.fd.io/govpp/api"
)

// messagesTSV lists the messages of VPP with the first and the last release that have
// them under a CRC; the last one is "-" while the newest release has them.
// "make vpp-release" generates it from the API files of a release.
//
//go:embed releases/messages.tsv
var messagesTSV string

// Table is the message table of a release: message name to CRC. It is a Checker.
type Table map[string]string

// Has reports whether the release has the message with this CRC.
func (t Table) Has(msg api.Message) bool {
	return t[msg.GetMessageName()] == msg.GetCrcString()
}

// Releases lists the known releases of VPP, oldest first.
func Releases() []string {
	line, _, _ := strings.Cut(messagesTSV, "\n")
	_, names, _ := strings.Cut(line, ":")
	return strings.Fields(names)
}

// Release returns the messages of a release ("25.10") with their CRCs, including
// the messages of all plugins of VPP. The map is the caller's. It fails for an
// unknown release.
func Release(name string) (map[string]string, error) {
	releases := Releases()
	order := make(map[string]int, len(releases))
	for i, r := range releases {
		order[r] = i
	}
	at, ok := order[name]
	if !ok {
		return nil, fmt.Errorf("release %q: expected one of %s", name, strings.Join(releases, ", "))
	}
	order["-"] = len(releases) - 1
	table := map[string]string{}
	for line := range strings.Lines(messagesTSV) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(line, "#") || len(f) != 4 {
			continue
		}
		if order[f[2]] <= at && at <= order[f[3]] {
			table[f[0]] = f[1]
		}
	}
	return table, nil
}

// Version is a release number of VPP, year and month; it is comparable.
type Version struct{ Year, Month int }

// ParseVersion reads the release from what show_version answers
// ("25.10-release", "v26.02-rc1~3-gdeadbeef", "25.10-simulated").
func ParseVersion(s string) (Version, error) {
	year, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(s), "v"), ".")
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	y, errYear := strconv.Atoi(year)
	m, errMonth := strconv.Atoi(rest[:end])
	if !ok || errYear != nil || errMonth != nil || len(year) != 2 || m < 1 || m > 12 || y < 0 {
		return Version{}, fmt.Errorf("VPP version %q: expected yy.mm first", s)
	}
	return Version{Year: y, Month: m}, nil
}

// Compare returns -1, 0 or +1 as v is older than, equal to or newer than o.
func (v Version) Compare(o Version) int {
	if v.Year != o.Year {
		return sign(v.Year - o.Year)
	}
	return sign(v.Month - o.Month)
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// String returns the version as VPP writes it ("25.10").
func (v Version) String() string { return fmt.Sprintf("%02d.%02d", v.Year, v.Month) }
