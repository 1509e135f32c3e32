package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Of the scenario failover.
const (
	calmFor    = 10 * time.Second // without trouble, to compare with
	calmShare  = 6                // runs too short for that have a share of their time
	wholeLimit = 3 * time.Minute  // for a server to be redundant again, and for the product to be in service
	aloneEvery = 4                // so many failovers, and the new primary is alone for long
	aloneFor   = 20 * time.Second // longer than any request waits
)

// gaps are how long the product went without each sign.
type gaps map[sign]time.Duration

// failing is one run of the scenario.
type failing struct {
	*field
	pulse     *pulse
	primaries int // killed
}

// failover kills the primary of PostgreSQL and nodes of RabbitMQ under load, each time that all are there again, and
// measures how long the product goes without a create and without a change. Nothing that was acknowledged may be lost.
func failover(ctx context.Context, f *field) error {
	postgres, rabbit := f.stack.Redundant()
	if !postgres && !rabbit {
		return errors.New("this stack has neither a standby nor a cluster: start it with --standby --cluster")
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx)) // the last failover is measured too
	defer stop()
	p, err := f.feel(beating)
	if err != nil {
		return err
	}
	r := &failing{field: f, pulse: p}
	calm := min(calmFor, f.share/calmShare)
	if !r.served(ctx, time.Now()) || !f.pause(ctx, time.Second, time.Second) {
		return nil
	}
	began := time.Now()
	f.pause(ctx, calm, calm)
	r.measure("nothing", began)
	var acts []act
	for _, a := range []act{r.node, r.leader, r.parted} {
		if postgres {
			acts = append(acts, r.primary)
		}
		if rabbit {
			acts = append(acts, a)
		}
	}
	return forever(acts...)(ctx, f)
}

// primary kills the primary and promotes the standby. The old primary comes back as a standby that was rewound. Until
// it streams, the new one acknowledges nothing.
func (r *failing) primary(ctx context.Context, f *field) error {
	ctx = context.WithoutCancel(ctx) // a failover that has begun ends
	old, next, err := f.stack.Primary(ctx)
	if err != nil {
		return err
	}
	f.strike(ctx)
	began := time.Now()
	if err := f.stack.Kill(ctx, old); err != nil {
		return err
	}
	f.count("kill -9 of PostgreSQL's primary")
	if err := f.stack.Promote(ctx, next); err != nil {
		return err
	}
	promoted := time.Now()
	if r.primaries++; r.primaries%aloneEvery == 0 && f.share > aloneEvery*aloneFor {
		f.pause(ctx, aloneFor, aloneFor)
	}
	if err := f.stack.Rewind(ctx, old); err != nil {
		return err
	}
	r.unacknowledged(began, time.Now())
	if err := f.stack.Start(ctx, old); err != nil {
		return err
	}
	if err := r.until(ctx, func() string {
		if follows, err := f.stack.InSync(ctx); err != nil || !follows {
			return fmt.Sprintf("%s does not follow %s: %v", old, next, err)
		}
		return ""
	}); err != nil {
		return err
	}
	return r.over(ctx, "PostgreSQL: primary killed", began, fmt.Sprintf("%s promoted after %s, %s", next, short(promoted.Sub(began)), old))
}

// unacknowledged finds payments that were made and answered while the new primary was alone. An older payment may be
// answered meanwhile: the old primary and its standby had it, and its create was repeated.
func (r *failing) unacknowledged(from, to time.Time) {
	for _, p := range r.asked() {
		if p.CreatedAt.After(from) && p.Answered.Before(to) {
			r.fault("payment %s of %s was answered at %s, when the new primary alone had it", p.Reference,
				p.CreatedAt.Format(time.StampMilli), p.Answered.Format(time.StampMilli))
		}
	}
}

// node kills any node.
func (r *failing) node(ctx context.Context, f *field) error {
	nodes := f.stack.Servers("rabbitmq")
	return r.fell(ctx, "RabbitMQ: node killed", nodes[f.random.IntN(len(nodes))])
}

// leader kills the node that leads a queue.
func (r *failing) leader(ctx context.Context, f *field) error {
	var leader string
	if err := r.until(ctx, func() string {
		queues, err := f.stack.Queues(ctx, f.stack.Servers("rabbitmq")[0])
		if err != nil {
			return err.Error() // busy brokers answer late
		}
		queue := queues[f.random.IntN(len(queues))]
		if leader = queue.Leader; leader == "" {
			return "nobody leads " + queue.Name
		}
		return ""
	}); err != nil {
		return err
	}
	return r.fell(ctx, "RabbitMQ: leader killed", leader)
}

func (r *failing) fell(ctx context.Context, what, node string) error {
	ctx = context.WithoutCancel(ctx)
	r.strike(ctx)
	began := time.Now()
	if err := r.stack.Kill(ctx, node); err != nil {
		return err
	}
	r.count("kill -9 of a node of RabbitMQ")
	r.pause(ctx, 2*time.Second, 6*time.Second)
	if err := r.start(ctx, node); err != nil {
		return err
	}
	return r.healed(ctx, what, node, began)
}

// parted cuts one node off from the others. Its clients reach it all the while; it has no majority and pauses.
func (r *failing) parted(ctx context.Context, f *field) error {
	ctx = context.WithoutCancel(ctx)
	nodes := f.stack.Servers("rabbitmq")
	node := nodes[f.random.IntN(len(nodes))]
	began := time.Now()
	if err := f.stack.Part(ctx, node, true); err != nil {
		return err
	}
	f.count("cut of a node of RabbitMQ from the others")
	f.pause(ctx, 8*time.Second, 15*time.Second)
	if err := f.stack.Part(ctx, node, false); err != nil {
		return err
	}
	return r.healed(ctx, "RabbitMQ: node cut off", node, began)
}

// healed waits until a node is one of the cluster again, as another sees it.
func (r *failing) healed(ctx context.Context, what, node string, began time.Time) error {
	nodes := r.stack.Servers("rabbitmq")
	other := nodes[(slices.Index(nodes, node)+1)%len(nodes)]
	if err := r.until(ctx, func() string { return r.stack.Whole(ctx, other) }); err != nil {
		return err
	}
	return r.over(ctx, what, began, node)
}

// until waits for nothing to be missing.
func (r *failing) until(ctx context.Context, missing func() string) error {
	for deadline := time.Now().Add(wholeLimit); ; r.pause(ctx, pulseEvery, pulseEvery) {
		lack := missing()
		if lack == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not whole after %s: %s", wholeLimit, lack)
		}
	}
}

// over ends a failover: the product must be in service again.
func (r *failing) over(ctx context.Context, what string, began time.Time, who string) error {
	whole := time.Now()
	if !r.served(ctx, whole) {
		r.fault("%s: no service %s after all was whole again", what, wholeLimit)
	}
	g := r.measure(what, began)
	r.say("failover %s, %s whole after %s; without creates %s, without changes %s", what, who, short(whole.Sub(began)), short(g[creates]), short(g[changes]))
	return nil
}

// served waits until every sign was seen after a moment.
func (r *failing) served(ctx context.Context, since time.Time) bool {
	for deadline := time.Now().Add(wholeLimit); time.Now().Before(deadline); {
		if r.pulse.since(since) {
			return true
		}
		if !r.pause(ctx, pulseEvery, pulseEvery) {
			return false
		}
	}
	return false
}

// measure notes the longest times without the signs since a moment.
func (r *failing) measure(what string, began time.Time) gaps {
	g := gaps{}
	for _, s := range signs {
		g[s] = r.pulse.longest(s, began, time.Now())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failovers[what] = append(r.failovers[what], g)
	return g
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }

// failoverTable has a line for each kind of failover: how often, and the seconds without service.
func failoverTable(all map[string][]gaps) string {
	var text strings.Builder
	fmt.Fprintf(&text, "  %-28s %5s  %-22s %-22s\n  %-28s %5s  %-10s %-11s %-10s %s\n", "failover", "times", "s without creates", "s without changes", "", "", "median", "worst", "median", "worst")
	for _, what := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "  %-28s %5d", what, len(all[what]))
		for _, s := range signs {
			var took []time.Duration
			for _, g := range all[what] {
				took = append(took, g[s])
			}
			slices.Sort(took)
			fmt.Fprintf(&text, "  %-10.2f %-10.2f", took[len(took)/2].Seconds(), took[len(took)-1].Seconds())
		}
		text.WriteString("\n")
	}
	return text.String()
}
