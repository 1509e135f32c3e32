package wire

import (
	"regexp"
	"slices"
)

// Returns is the exchange through which a service moves messages into its own queues: to a dead queue, and back. The
// service alone may write to it.
func Returns(service string) string { return service + ".returns" }

// Exchange, Queue and Binding are declared by an administrator before a service connects. Their JSON is that of
// RabbitMQ's definitions, which require every field.
type Exchange struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Durable    bool           `json:"durable"`
	AutoDelete bool           `json:"auto_delete"` // never
	Internal   bool           `json:"internal"`    // never
	Arguments  map[string]any `json:"arguments"`
}

// Queue is a quorum queue.
type Queue struct {
	Name       string         `json:"name"`
	Durable    bool           `json:"durable"`
	AutoDelete bool           `json:"auto_delete"` // never
	Arguments  map[string]any `json:"arguments"`
}

// Binding leads the messages of an exchange that have a routing key into a queue.
type Binding struct {
	Exchange  string         `json:"source"`
	Queue     string         `json:"destination"`
	Kind      string         `json:"destination_type"`
	Key       string         `json:"routing_key"`
	Arguments map[string]any `json:"arguments"`
}

// Declarations are all exchanges, queues and bindings of a topology.
type Declarations struct {
	Exchanges []Exchange `json:"exchanges"`
	Queues    []Queue    `json:"queues"`
	Bindings  []Binding  `json:"bindings"`
}

const (
	// deliveryLimit counts returns of a message, and so the crashes of its consumers; retries inside a handler do not
	// count. Beyond it the broker itself moves the message to the dead queue.
	deliveryLimit = 100
	// noLimit is for queues that operators inspect by get and return: RabbitMQ 4 gives every quorum queue a limit of 20
	// unless it has one, and 3.x has no value for none.
	noLimit = 1_000_000_000
)

// Declare lists everything that the lines of a topology need. A queue's arguments never change: other arguments need a
// queue with a new name (".v2").
func Declare(lines []Route) Declarations {
	d := Declarations{
		Exchanges: []Exchange{{Name: Unrouted, Type: "fanout", Durable: true, Arguments: map[string]any{}}},
		Queues:    []Queue{keep(Unrouted)},
		Bindings:  []Binding{bind(Unrouted, Unrouted, "")},
	}
	exchange := func(e Exchange) {
		if !slices.ContainsFunc(d.Exchanges, func(other Exchange) bool { return other.Name == e.Name }) {
			d.Exchanges = append(d.Exchanges, e)
		}
	}
	for _, line := range lines {
		exchange(Exchange{Name: line.Exchange, Type: "topic", Durable: true, Arguments: map[string]any{"alternate-exchange": Unrouted}})
		back := Returns(line.Consumer)
		exchange(Exchange{Name: back, Type: "direct", Durable: true, Arguments: map[string]any{}})
		if !slices.ContainsFunc(d.Queues, func(q Queue) bool { return q.Name == line.Queue }) {
			dead := DeadQueue(line.Queue)
			d.Queues = append(d.Queues, work(line.Queue), keep(dead))
			d.Bindings = append(d.Bindings, bind(back, line.Queue, line.Queue), bind(back, dead, dead))
		}
		d.Bindings = append(d.Bindings, bind(line.Exchange, line.Queue, string(line.Name)))
	}
	return d
}

func bind(exchange, queue, key string) Binding {
	return Binding{Exchange: exchange, Queue: queue, Kind: "queue", Key: key, Arguments: map[string]any{}}
}

// work is a queue that a service consumes. Messages beyond the delivery limit are moved at least once, which needs
// reject-publish.
func work(name string) Queue {
	return Queue{Name: name, Durable: true, Arguments: map[string]any{
		"x-queue-type":              "quorum",
		"x-delivery-limit":          deliveryLimit,
		"x-dead-letter-exchange":    "",
		"x-dead-letter-routing-key": DeadQueue(name),
		"x-dead-letter-strategy":    "at-least-once",
		"x-overflow":                "reject-publish",
	}}
}

// keep is a queue that people look into.
func keep(name string) Queue {
	return Queue{Name: name, Durable: true, Arguments: map[string]any{"x-queue-type": "quorum", "x-delivery-limit": noLimit}}
}

// Rights are the patterns of the names that a broker user may configure, write to and read from.
type Rights struct {
	Configure string `json:"configure"`
	Write     string `json:"write"`
	Read      string `json:"read"`
}

// RightsOf are the rights of a service's user. It declares and binds nothing, writes to its own exchanges and reads its
// own queues. A binding needs the right to write to the queue, so no user can lead another exchange into a queue of its
// own. The default exchange (amq.default), which reaches every queue by its name, is not among the names either.
func RightsOf(service string) Rights {
	own := regexp.QuoteMeta(service)
	return Rights{Configure: "^$", Write: "^" + own + `(\.returns)?$`, Read: "^" + own + `\..+$`}
}

// EarlierRights are the rights that a service's user had when services declared their queues themselves. Binaries of
// that time need them for as long as they run beside newer ones (docs/deploy.md).
func EarlierRights() Rights {
	all := `^(unrouted|amq\.default|(payments|wallets|reports|callback-dispatcher)(\..*)?)$`
	return Rights{Configure: all, Write: all, Read: all}
}

// Users are the services that connect to the broker.
func Users() []string { return []string{Payments, Wallets, Reports, Dispatcher} }
