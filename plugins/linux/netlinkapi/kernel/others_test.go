package kernel

import "testing"

// Whatever a message looks like, reading it ends.
func FuzzAboutNamespace(f *testing.F) {
	f.Add([]byte("\x1c\x00\x00\x00\x59\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08\x00\x01\x00\x03\x00\x00\x00"), []byte{})
	f.Add([]byte("\x10\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), []byte("\x14\x00\x00\x00\x00\x00\x00\x00\x0e\x01\x00\x00\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data, control []byte) {
		if number, ok := aboutNamespace(data, control); !ok && number != 0 {
			t.Errorf("number %d of nothing", number)
		}
	})
}

func TestAboutNamespace(t *testing.T) {
	t.Parallel()
	const link = "\x10\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	const five = "\x14\x00\x00\x00\x00\x00\x00\x00\x0e\x01\x00\x00\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00"
	const gone = "\x1c\x00\x00\x00\x59\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08\x00\x01\x00\x03\x00\x00\x00"
	for _, test := range []struct {
		what, data, control string
		number              int
		ok                  bool
	}{
		{"a link here", link, "", -1, true},
		{"a link in another namespace", link, five, 5, true},
		{"a namespace that is gone", gone, "", 3, true},
		{"one that is gone elsewhere", gone, five, 0, false},
		{"an address in another namespace", "\x10\x00\x00\x00\x14\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", five, 5, true},
		{"something else", "\x10\x00\x00\x00\x18\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", five, 0, false},
		{"nothing", "", "", 0, false},
	} {
		if number, ok := aboutNamespace([]byte(test.data), []byte(test.control)); number != test.number || ok != test.ok {
			t.Errorf("%s: got %d, %v", test.what, number, ok)
		}
	}
}
