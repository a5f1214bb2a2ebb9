package values

import (
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

func (o *dumpCommand) protoDump(items []dumpedItem) (list []cmdutil.ProtoItem, err error) {
	for _, item := range items {
		it, err := o.Models.MessageOf(item.Key, item.message, item.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, it)
	}
	return list, nil
}

func protoValues(values []valueData) (list []cmdutil.ProtoItem) {
	for _, v := range values {
		list = append(list, cmdutil.ProtoItem{Key: v.Value.GetKey(), Message: &api.BaseValueStatus{Value: v.Value, DerivedValues: v.DerivedValues}})
	}
	return list
}
