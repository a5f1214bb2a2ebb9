package kvscheduler

import (
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
)

// Config is kvscheduler.conf.
type Config struct {
	RecordTransactionHistory      bool   `yaml:"record-transaction-history" desc:"keep the history of transactions in memory"`
	TransactionHistoryAgeLimit    uint32 `yaml:"transaction-history-age-limit" desc:"drop transactions that are older, in minutes"`
	PermanentlyRecordedInitPeriod uint32 `yaml:"permanently-recorded-init-period" desc:"keep the transactions of this time after the start, in minutes, whatever their age"`
	TransactionHistoryMaxEntries  int    `yaml:"transaction-history-max-entries" desc:"number of transactions kept"`
	TransactionHistoryMaxBytes    int64  `yaml:"transaction-history-max-bytes" desc:"approximate memory that the history may take, in bytes; large transactions lose their operations first"`
	EnableTxnSimulation           bool   `yaml:"enable-txn-simulation" desc:"print the planned operations of every transaction before it is executed, if transactions are printed; the plan is not made a second time for this"`
	PrintTxnSummary               string `yaml:"print-txn-summary" desc:"print every transaction to the standard output: arguments, planned operations, executed operations; true, false, or auto: if the standard output is a terminal"`

	QueueCapacity   int           `yaml:"queue-capacity" desc:"number of transactions of the northbound that can wait in the queue"`
	QueueAgeing     time.Duration `yaml:"queue-ageing" desc:"how long transactions of the northbound may go before notifications and retries"`
	StateDir        string        `yaml:"state-dir" desc:"directory that keeps the record of created objects and of requests over restarts; empty: in memory"`
	StateDirFrom    string        `yaml:"state-dir-from" desc:"former microservice label of the agent, whose state-dir it takes over; without this a state-dir of another label is refused"`
	CallbackTimeout time.Duration `yaml:"callback-timeout" desc:"how long a callback of a descriptor may take before it counts as failed, with an unknown outcome; reading VPP may take longer, as long as records arrive; 0 disables it"`

	Ownership []OwnershipRule `yaml:"ownership" desc:"what the agent may do with which values; the longest key prefix wins, then the descriptor, and everything else is managed"`

	CheckContracts  bool          `yaml:"check-contracts" desc:"fail callbacks that change the values handed to them; for the development of plugins, it costs time"`
	QuarantineAfter int           `yaml:"quarantine-after" desc:"how many times within an hour a southbound may disconnect during an operation on a value before the scheduler stops operations on the value, or soon after values were applied before it searches the value that is the cause; 0 is no limit"`
	CrashWindow     time.Duration `yaml:"crash-window" desc:"how soon after its values were applied a southbound may disconnect, with no operation in flight, for one of them to be the cause; 0: none ever is"`

	DriftDetectionInterval time.Duration     `yaml:"drift-detection-interval" desc:"how often the southbound is compared with the record of the agent; 0 is never"`
	DriftRepair            string            `yaml:"drift-repair" desc:"what to do about drift: repair; report, then also lost values stay missing; empty: lost values are created again, and a detection only reports"`
	DriftRepairFor         map[string]string `yaml:"drift-repair-for" desc:"the same for a descriptor (by name) or for keys (by prefix; the longest wins)"`
}

// Values of Config.PrintTxnSummary.
const (
	PrintAuto   = "auto" // if the standard output is a terminal, or UseOutput names another one
	PrintAlways = "true"
	PrintNever  = "false"
)

// DefaultConfig returns the configuration without a file.
func DefaultConfig() Config {
	return Config{
		RecordTransactionHistory:      true,
		TransactionHistoryAgeLimit:    24 * 60,
		PermanentlyRecordedInitPeriod: 60,
		TransactionHistoryMaxEntries:  10_000,
		TransactionHistoryMaxBytes:    16 << 20,
		PrintTxnSummary:               PrintAuto,
		EnableTxnSimulation:           true, // only the print costs: the plan is made anyway
		QueueCapacity:                 queue.DefaultCapacity,
		QueueAgeing:                   queue.DefaultAgeing,
		// Far more than any southbound needs for one value, Retrieve of a million
		// routes included, and less than people wait before they call for help.
		CallbackTimeout: 30 * time.Second,
		QuarantineAfter: 3,
		CrashWindow:     10 * time.Second,
	}
}

// Validate returns the errors of a configuration.
func (c Config) Validate() error {
	var check config.Checks
	check.Expect(c.TransactionHistoryMaxEntries >= 1, "transaction-history-max-entries: expected at least 1")
	check.Expect(c.TransactionHistoryMaxBytes >= 1<<16, "transaction-history-max-bytes: expected at least 65536")
	check.Expect(slices.Contains([]string{PrintAuto, PrintAlways, PrintNever}, c.PrintTxnSummary), "print-txn-summary is %q: expected true, false or auto", c.PrintTxnSummary)
	check.Expect(c.QueueCapacity >= 1, "queue-capacity: expected at least 1")
	check.Expect(c.QueueAgeing >= time.Millisecond, "queue-ageing: expected at least 1ms")
	check.Expect(c.CallbackTimeout == 0 || c.CallbackTimeout >= time.Millisecond, "callback-timeout is %v: expected 1ms or more, or 0 for no limit", c.CallbackTimeout)
	check.Expect(c.QuarantineAfter >= 0, "quarantine-after is %d: expected 1 or more, or 0 for no limit", c.QuarantineAfter)
	check.Expect(c.CrashWindow == 0 || c.CrashWindow >= 100*time.Millisecond, "crash-window is %v: expected 100ms or more, or 0 for none", c.CrashWindow)
	check.Add(c.validateDrift(), c.validateOwnership())
	return check.Err()
}

func (c Config) history() record.Options {
	return record.Options{
		MaxEntries: c.TransactionHistoryMaxEntries,
		MaxBytes:   c.TransactionHistoryMaxBytes,
		AgeLimit:   time.Duration(c.TransactionHistoryAgeLimit) * time.Minute,
		InitPeriod: time.Duration(c.PermanentlyRecordedInitPeriod) * time.Minute,
	}
}
