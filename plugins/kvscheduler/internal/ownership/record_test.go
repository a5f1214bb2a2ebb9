package ownership

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A value of a type that this program does not know is passed on as it is.
func TestUnknownTypesArePassedOn(t *testing.T) {
	t.Parallel()
	r := Record{Key: "k", Kind: &Kind{Descriptor: "d", Type: "no.such.Type"}, Txn: 300, At: 5000, wire: "\x01\x02\x03"}
	data, err := r.encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode("k", data, kinds{})
	if err != nil || got.Message() != nil || got.ValueType() != "no.such.Type" || got.Txn != 300 || got.At != r.At {
		t.Errorf("%+v, %v", got, err)
	}
	again, err := got.encode(nil)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("%q, expected %q, %v", again, data, err)
	}
}

func FuzzDecode(f *testing.F) {
	r := Record{Key: "k", Kind: &Kind{Descriptor: "d", Southbound: "s"}, Txn: 1, At: 5000, Value: wrapperspb.String("x")}
	good, err := r.encode(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte{1, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode("k", data, kinds{})
		if err != nil {
			return
		}
		r.Message()
		r.Value = nil
		again, err := r.encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		if next, err := decode("k", again, kinds{}); err != nil || next.Descriptor != r.Descriptor || next.Txn != r.Txn {
			t.Errorf("%+v became %+v, %v", r, next, err)
		}
		decodeRunning(data)
	})
}
