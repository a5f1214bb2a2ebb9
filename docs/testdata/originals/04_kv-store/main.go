// Command 04_kv-store is the tutorial of the predecessor about key-value stores, with
// other import paths. The message comes from tutorial 05; the store is bolt, which needs
// no server, so that the program can run in a test: the name of the connector is all that
// changes.
package main

import (
	"fmt"
	"log"
	"strings"

	"github.com/tenuto-dev/tenuto/examples/tutorials/05_kv-scheduler/model"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv/bolt"
	"github.com/tenuto-dev/tenuto/infra/kv/keyval"
)

const keyPrefix = "/myprefix/"

func main() {
	p := new(MyPlugin)
	p.SetName("myplugin")
	p.Setup()
	p.KVStore = &bolt.DefaultPlugin
	a := agent.NewAgent(agent.AllPlugins(p))
	if err := a.Run(); err != nil {
		log.Fatalln(err)
	}
}

type Deps struct {
	infra.PluginDeps
	KVStore keyval.KvProtoPlugin
}

type MyPlugin struct {
	Deps
	changes  chan keyval.ProtoWatchResp
	closing  chan string
	finished chan bool
}

func (p *MyPlugin) Init() error {
	if p.KVStore.Disabled() {
		return fmt.Errorf("KV store is disabled")
	}
	p.changes = make(chan keyval.ProtoWatchResp)
	p.closing = make(chan string)
	p.finished = make(chan bool)
	watcher := p.KVStore.NewWatcher(keyPrefix)
	if err := watcher.Watch(keyval.ToChanProto(p.changes), p.closing, "greetings/"); err != nil {
		return err
	}
	go p.onChange()
	return nil
}

func (p *MyPlugin) AfterInit() error {
	go p.updater()
	return nil
}

func (p *MyPlugin) Close() error {
	close(p.closing)
	return nil
}

func (p *MyPlugin) updater() {
	broker := p.KVStore.NewBroker(keyPrefix)
	value := new(model.Interface)
	found, _, err := broker.GetValue("greetings/hello", value)
	if err != nil {
		p.Log.Errorf("GetValue failed: %v", err)
	} else if !found {
		p.Log.Info("No greetings found..")
	}
	if err := broker.Put("greetings/hello", &model.Interface{Name: "Hello"}); err != nil {
		p.Log.Errorf("Put failed: %v", err)
	}
	<-p.finished
	if found, _, err = broker.GetValue("greetings/hello", value); err != nil || !found {
		p.Log.Errorf("GetValue failed: %v", err)
	}
	p.Log.Infof("Found some greetings: %v", value.Name)
	txn := broker.NewTxn()
	txn.Put("greetings/txn", &model.Interface{Name: "Bye"})
	txn.Delete("greetings/hello")
	if err := txn.Commit(p.Context()); err != nil {
		p.Log.Error(err)
	}
	<-p.finished
	<-p.finished
	iter, err := broker.ListValues("greetings/")
	if err != nil {
		p.Log.Error(err)
		return
	}
	for {
		kv, stop := iter.GetNext()
		if stop {
			break
		}
		if err := kv.GetValue(value); err != nil {
			p.Log.Error(err)
		}
		p.Log.Infof("Listed %s: %s", strings.TrimPrefix(kv.GetKey(), "greetings/"), value.Name)
	}
}

func (p *MyPlugin) onChange() {
	for {
		select {
		case resp := <-p.changes:
			value := new(model.Interface)
			if resp.GetChangeType() == datasync.Delete {
				p.Log.Infof("%v: deleted", resp.GetKey())
			} else if err := resp.GetValue(value); err != nil {
				p.Log.Errorf("GetValue for change failed: %v", err)
			} else {
				p.Log.Infof("%v: %v", resp.GetKey(), value.Name)
			}
			p.finished <- true
		case <-p.closing:
			return
		}
	}
}
