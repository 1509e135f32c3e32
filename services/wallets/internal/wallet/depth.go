package wallet

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"causeway.internal/libs/money"
)

// Depths is the table of confirmations by network and asset: the ascending depths at which a deposit is published
// again. Payments decides which of them is enough for which sum in US dollars.
type Depths struct {
	network map[string][]int64
	asset   map[[2]string][]int64
}

// DefaultDepths is the table of docs/api-contract.md#networks. Where only finality counts, it has the depth in its
// place.
func DefaultDepths() Depths {
	d := Depths{network: map[string][]int64{}, asset: map[[2]string][]int64{}}
	for _, n := range money.Networks() {
		d.network[n.Name] = []int64{cmp.Or(n.Confirmations, n.FinalDepth)}
	}
	return d
}

// ParseDepths reads overrides of the default table: "ethereum=12,32;ethereum/USDT=6,12,32;bsc=90". An entry replaces
// the whole list of its network, or of one asset on it.
func ParseDepths(text string) (Depths, error) {
	d := DefaultDepths()
	for entry := range strings.SplitSeq(text, ";") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		name, list, ok := strings.Cut(entry, "=")
		if !ok {
			return Depths{}, fmt.Errorf("%q: want network=depth,depth or network/ASSET=depth,depth", entry)
		}
		depths, err := parseList(list)
		if err != nil {
			return Depths{}, fmt.Errorf("%q: %w", entry, err)
		}
		networkName, symbol, perAsset := strings.Cut(strings.TrimSpace(name), "/")
		network, ok := money.NetworkOf(networkName)
		if !ok {
			return Depths{}, fmt.Errorf("%q: no such network; there are %s", entry, money.Pairs())
		}
		if !perAsset {
			d.network[network.Name] = depths
			continue
		}
		asset, ok := network.Asset(symbol)
		if !ok {
			return Depths{}, fmt.Errorf("%q: no such asset; there are %s", entry, money.Pairs())
		}
		d.asset[[2]string{network.Name, asset.Symbol}] = depths
	}
	return d, nil
}

// mostDepth bounds an entry of the table; deeper than this the headers are gone and nothing can be reverted any more.
const mostDepth = 4_096

func parseList(list string) ([]int64, error) {
	var out []int64
	for item := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(item), 10, 64)
		if err != nil || n < 1 || n > mostDepth {
			return nil, fmt.Errorf("a depth must be a number of 1 to %d", mostDepth)
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// Of returns the depths of an asset on a network, ascending.
func (d Depths) Of(network, asset string) []int64 {
	if own, ok := d.asset[[2]string{network, asset}]; ok {
		return own
	}
	return d.network[network]
}

// Deepest is the largest depth of an asset on a network.
func (d Depths) Deepest(network, asset string) int64 {
	list := d.Of(network, asset)
	if len(list) == 0 {
		return 1
	}
	return list[len(list)-1]
}

// Within checks that no depth of a network lies beyond the one that counts as final: final is enough for any sum, so it
// must not come before what the table asks for.
func (d Depths) Within(n money.Network, final int64) error {
	for _, a := range n.Assets {
		if most := d.Deepest(n.Name, a.Symbol); most > final {
			return fmt.Errorf("%s counts as final at %d blocks, but %s is published at %d", n.Name, final, a.Symbol, most)
		}
	}
	return nil
}

// windowLeast is how many headers are kept at least.
const windowLeast = 4_096

// Window is how many headers of a network are kept: a reorganisation within it is followed, a deeper one stops the
// scan.
func Window(n money.Network) int64 { return max(n.FinalDepth, windowLeast) }
