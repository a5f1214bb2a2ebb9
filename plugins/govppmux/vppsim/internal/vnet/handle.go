package vnet

import (
	"reflect"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
)

// retval is the result of a request.
type retval = api.VPPApiError

// ok is the retval of success.
const ok = retval(0)

// ifIndex is the sw_if_index of a message.
type ifIndex = interface_types.InterfaceIndex

// noInterface means all interfaces in dumps, and none in replies that refuse to
// create one.
const noInterface = ifIndex(none)

// handle registers the handler of requests whose reply R has a retval and nothing
// else that the handler decides: handle[XReply](server, f.x).
func handle[R, Q any, PR wire.MessageOf[R], PQ wire.MessageOf[Q]](server *wire.Server, fn func(PQ) retval) {
	rv := fieldOf[R]("Retval")
	wire.Handle(server, func(_ *wire.Call, req PQ) PR {
		reply := PR(new(R))
		reflect.ValueOf(reply).Elem().Field(rv).SetInt(int64(fn(req)))
		return reply
	})
}

// handleCreate registers the handler of requests that create an interface, whose
// reply R has its sw_if_index besides a retval.
func handleCreate[R, Q any, PR wire.MessageOf[R], PQ wire.MessageOf[Q]](server *wire.Server, fn func(PQ) (ifIndex, retval)) {
	rv, swIndex := fieldOf[R]("Retval"), fieldOf[R]("SwIfIndex")
	wire.Handle(server, func(_ *wire.Call, req PQ) PR {
		index, result := fn(req)
		reply := PR(new(R))
		fields := reflect.ValueOf(reply).Elem()
		fields.Field(rv).SetInt(int64(result))
		fields.Field(swIndex).SetUint(uint64(index))
		return reply
	})
}

// fieldOf returns the position of a field of a reply, which must have it.
func fieldOf[R any](name string) int {
	field, has := reflect.TypeFor[R]().FieldByName(name)
	if !has {
		panic(reflect.TypeFor[R]().String() + " has no " + name) /* ok: every New would, with any state */
	}
	return field.Index[0]
}

// selects says whether a dump that asks for an interface, or for all, is about the
// one with an index.
func selects(asked ifIndex, index uint32) bool {
	return asked == noInterface || uint32(asked) == index
}
