package docs

import (
	"bufio"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

var curl = regexp.MustCompile(`^\$ curl -s localhost:9191(/\S+) -d '(.*)'$`)

// TestAPI executes the requests of api.md, in their order, on an agent with a simulated VPP.
// What a box shows must be in the first line of the response.
func TestAPI(t *testing.T) {
	text, err := os.ReadFile("api.md")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://127.0.0.1:" + start(t, t.TempDir())[1]
	executed := 0
	for _, box := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		var call, response string
		for _, l := range strings.Split(strings.TrimSpace(box[1]), "\n") {
			if m := curl.FindStringSubmatch(l); m != nil {
				call, response = m[1], post(t, url+m[1], m[2])
				executed++
				continue
			}
			if !strings.Contains(response, strings.ReplaceAll(l, " ", "")) {
				t.Errorf("%s: no %s in %s", call, l, response)
			}
		}
	}
	if executed < 6 {
		t.Errorf("%d requests executed, expected 6 or more", executed)
	}
}

// post returns the first line of a response, without blanks.
func post(t *testing.T, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(line, " ", "")
}
