package client

// The services of an agent. Each is a part of the Client.
type (
	// AgentService is about the agent itself: its state, version and models.
	AgentService struct{ c *Client }
	// AuthService is about tokens of users.
	AuthService struct{ c *Client }
	// ConfigurationService is about the desired configuration and its sources.
	ConfigurationService struct{ c *Client }
	// HistoryService is about the transactions of the scheduler.
	HistoryService struct{ c *Client }
	// LogService is about the levels of loggers.
	LogService struct{ c *Client }
	// MetricsService is about the metrics.
	MetricsService struct{ c *Client }
	// PlanService is about plans, and changes that wait for a confirmation.
	PlanService struct{ c *Client }
	// RepairService is about drift, orphans and quarantine.
	RepairService struct{ c *Client }
	// SchedulerService is about the values and their states.
	SchedulerService struct{ c *Client }
	// VPPService is about the VPP of the agent.
	VPPService struct{ c *Client }
)
