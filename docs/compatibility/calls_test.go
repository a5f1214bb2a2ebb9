package compatibility

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

	schema "github.com/tenuto-dev/tenuto/proto"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// call is a call of the predecessor's services, with a check of what it does.
type call struct {
	method string
	verdict
	how   string
	check func(ctx context.Context, c *rpc.ClientConn) error
}

func callRows() (rows []row) {
	for _, c := range calls() {
		rows = append(rows, row{c.method, c.verdict, c.how})
	}
	return rows
}

const (
	loopModel = "vpp.interfaces"
	restloop  = "config/vpp/v2/interfaces/grpcloop"
)

func loop(name string) *interfaces.Interface {
	return &interfaces.Interface{Name: name, Type: interfaces.Interface_SOFTWARE_LOOPBACK}
}

func configOf(items ...*interfaces.Interface) *configurator.Config {
	return &configurator.Config{VppConfig: &vpp.ConfigData{Interfaces: items}}
}

// expect makes an error of what is not as expected.
func expect(err error, as bool, format string, args ...any) error {
	if err == nil && !as {
		err = fmt.Errorf(format, args...)
	}
	return err
}

// wantCode expects an error with a code and a text.
func wantCode(err error, code codes.Code, text string) error {
	if status.Code(err) != code || !strings.Contains(err.Error(), text) {
		return fmt.Errorf("%w, expected %s with %q", err, code, text)
	}
	return nil
}

func calls() []call {
	return slices.Concat(configuratorCalls(), managerCalls(), []call{
		{"ligato.configurator.StatsPollerService/PollStats", better, "the interfaces of Linux as well, for requests with `LINUX` among the `sources`", pollStats},
		{"ligato.generic.MetaService/KnownModels", same, "", knownModels},
		{"ligato.generic.MetaService/ProtoFileDescriptor", same, "", protoFile},
	})
}

func configuratorCalls() []call {
	const service = "ligato.configurator.ConfiguratorService/"
	return []call{
		{service + "Get", better, "secrets are `***`, unless the metadata `show-secrets` asks for them", getConfig},
		{service + "Update", better, "an invalid item is InvalidArgument with its field, and nothing takes effect; an item that fails is FailedPrecondition with `KeyErrors`; " +
			"an item that stays UNIMPLEMENTED is an error; a secret that is `***` stays what it is; `wait_done` ends at once if it waits in vain", updateConfig},
		{service + "Delete", better, "removes what clients put, never what another source asks for", remove},
		{service + "Dump", better, "all items that can be read from VPP and Linux; what cannot be read is in the trailer `unread-bin`", dump},
		{service + "Notify", same, "", notify},
	}
}

func getConfig(ctx context.Context, c *rpc.ClientConn) error {
	got, err := configurator.NewConfiguratorServiceClient(c).Get(ctx, &configurator.GetRequest{})
	return expect(err, len(got.GetConfig().GetLinuxConfig().GetInterfaces()) == 2, "got %v", got)
}

func updateConfig(ctx context.Context, c *rpc.ClientConn) error {
	client := configurator.NewConfiguratorServiceClient(c)
	var header metadata.MD
	_, err := client.Update(ctx, &configurator.UpdateRequest{Update: configOf(loop("grpcloop")), WaitDone: true}, rpc.Header(&header))
	if err := expect(err, len(header.Get("seqnum")) == 1, "header %v", header); err != nil {
		return err
	}
	wrong := loop("wrong")
	wrong.IpAddresses = []string{"zz"}
	_, err = client.Update(ctx, &configurator.UpdateRequest{Update: configOf(wrong)})
	return wantCode(err, codes.InvalidArgument, "ip_addresses")
}

func remove(ctx context.Context, c *rpc.ClientConn) error {
	_, err := configurator.NewConfiguratorServiceClient(c).Delete(ctx, &configurator.DeleteRequest{Delete: configOf(loop("grpcloop")), WaitDone: true})
	return err
}

func dump(ctx context.Context, c *rpc.ClientConn) error {
	got, err := configurator.NewConfiguratorServiceClient(c).Dump(ctx, &configurator.DumpRequest{})
	return expect(err, len(got.GetDump().GetVppConfig().GetInterfaces()) > 5, "got %v", got)
}

func notify(ctx context.Context, c *rpc.ClientConn) error {
	stream, err := configurator.NewConfiguratorServiceClient(c).Notify(ctx, &configurator.NotifyRequest{})
	if err != nil {
		return err
	}
	got, err := stream.Recv()
	return expect(err, got.GetNotification() != nil && got.GetNextIdx() > 0, "got %v", got)
}

func managerCalls() []call {
	const service = "ligato.generic.ManagerService/"
	return []call{
		{service + "SetConfig", better, "the results have the id and the operation, in the order of the request, and the transaction's number as `seqnum`; an item that fails is an error, as for Update", setConfig},
		{service + "GetConfig", better, "ids and labels together, too", getItems},
		{service + "DumpState", better, "reads VPP and Linux, with metadata", dumpState},
		{service + "Subscribe", better, "streams the items as they change; the predecessor's was not implemented", subscribe},
	}
}

func setConfig(ctx context.Context, c *rpc.ClientConn) error {
	body, err := anypb.New(loop("grpcloop"))
	if err != nil {
		return err
	}
	body.TypeUrl = strings.Replace(body.TypeUrl, "type.googleapis.com", "models.ligato.io", 1)
	req := &generic.SetConfigRequest{Updates: []*generic.UpdateItem{{
		Item:   &generic.Item{Id: &generic.Item_ID{Model: loopModel, Name: "grpcloop"}, Data: &generic.Data{Union: &generic.Data_Any{Any: body}}},
		Labels: map[string]string{"who": "me"},
	}}}
	got, err := generic.NewManagerServiceClient(c).SetConfig(ctx, req)
	if err != nil {
		return err
	}
	results := got.GetResults()
	return expect(nil, len(results) == 2 && results[0].Key == restloop && results[0].Op == generic.UpdateResult_CREATE && results[1].Key == "seqnum", "got %v", got)
}

func getItems(ctx context.Context, c *rpc.ClientConn) error {
	got, err := generic.NewManagerServiceClient(c).GetConfig(ctx, &generic.GetConfigRequest{
		Ids: []*generic.Item_ID{{Model: loopModel}}, Labels: map[string]string{"who": "me"}})
	return expect(err, len(got.GetItems()) == 1 && got.GetItems()[0].GetStatus().GetStatus() == "CONFIGURED", "got %v", got)
}

func dumpState(ctx context.Context, c *rpc.ClientConn) error {
	got, err := generic.NewManagerServiceClient(c).DumpState(ctx, &generic.DumpStateRequest{Ids: []*generic.Item_ID{{Model: loopModel}}})
	return expect(err, len(got.GetItems()) > 5 && len(got.GetItems()[0].GetMetadata()) > 0, "got %v", got)
}

func subscribe(ctx context.Context, c *rpc.ClientConn) error {
	stream, err := generic.NewManagerServiceClient(c).Subscribe(ctx, &generic.SubscribeRequest{})
	if err != nil {
		return err
	}
	got, err := stream.Recv()
	return expect(err, len(got.GetNotifications()) > 0, "got %v", got)
}

func pollStats(ctx context.Context, c *rpc.ClientConn) error {
	client := configurator.NewStatsPollerServiceClient(c)
	stream, err := client.PollStats(ctx, &configurator.PollStatsRequest{NumPolls: 1})
	if err != nil {
		return err
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable { // a simulated VPP counts nothing
		return wantCode(err, codes.Unavailable, "stats segment")
	}
	if stream, err = client.PollStats(ctx, &configurator.PollStatsRequest{NumPolls: 2}); err == nil {
		_, err = stream.Recv()
	}
	if err := wantCode(err, codes.InvalidArgument, "period"); err != nil {
		return err
	}
	stream, err = client.PollStats(ctx, &configurator.PollStatsRequest{Sources: []configurator.PollStatsRequest_Source{configurator.PollStatsRequest_LINUX}})
	if err != nil {
		return err
	}
	got, err := stream.Recv()
	return expect(err, got.GetStats().GetLinuxStats().GetInterface().GetName() != "", "got %v", got)
}

func knownModels(ctx context.Context, c *rpc.ClientConn) error {
	got, err := generic.NewMetaServiceClient(c).KnownModels(ctx, &generic.KnownModelsRequest{Class: "config"})
	if err != nil {
		return err
	}
	for _, m := range got.GetKnownModels() {
		if name := m.GetProtoName(); schema.IsAddition(protoreflect.FullName(name)) {
			return fmt.Errorf("a model that the predecessor lacks: %s", name)
		}
	}
	if got, err = generic.NewMetaServiceClient(c).KnownModels(ctx, &generic.KnownModelsRequest{Class: "metrics"}); err == nil {
		err = expect(nil, len(got.GetKnownModels()) == 1 && got.GetKnownModels()[0].GetProtoName() == "ligato.govppmux.Metrics", "metrics: %v", got)
	}
	return err
}

func protoFile(ctx context.Context, c *rpc.ClientConn) error {
	got, err := generic.NewMetaServiceClient(c).ProtoFileDescriptor(ctx, &generic.ProtoFileDescriptorRequest{FullProtoFileName: "ligato/vpp/interfaces/interface.proto"})
	if err := expect(err, got.GetFileDescriptor().GetPackage() == "ligato.vpp.interfaces", "got %v", got.GetFileDescriptor().GetName()); err != nil {
		return err
	}
	want, err := schema.Former.FindFileByPath("ligato/vpp/interfaces/interface.proto")
	return expect(err, proto.Equal(got.GetFileDescriptor(), protodesc.ToFileDescriptorProto(want)), "more than the schema of the predecessor")
}

// TestCalls makes all calls, and looks for methods that the table lacks.
func TestCalls(t *testing.T) {
	t.Parallel()
	plugins := startAgent(t)
	conn, err := rpc.NewClient(plugins.GRPC.Addr().String(), rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	known := map[string]bool{}
	for _, c := range calls() {
		known[c.method] = true
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		if err := c.check(ctx, conn); err != nil {
			t.Errorf("%s: %v", c.method, err)
		}
		cancel()
	}
	for _, service := range []rpc.ServiceDesc{
		configurator.ConfiguratorService_ServiceDesc, configurator.StatsPollerService_ServiceDesc,
		generic.ManagerService_ServiceDesc, generic.MetaService_ServiceDesc,
	} {
		for _, m := range service.Methods {
			if !known[service.ServiceName+"/"+m.MethodName] {
				t.Errorf("the table lacks %s/%s", service.ServiceName, m.MethodName)
			}
		}
	}
}
