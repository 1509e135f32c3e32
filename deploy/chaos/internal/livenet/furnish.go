package livenet

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"causeway.internal/deploy/chaos/internal/chain"
)

// Operators put this on the stations at the start, in base units, and this makes the treasuries accounts.
const (
	stationWei      = 5_000_000_000_000_000_000
	refundGifts     = 10 // of as many ETH
	refundTokens    = 1_000_000_000_000
	refundSun       = 1_000_000_000_000
	refundLamports  = 10_000_000_000_000
	refundSats      = 200_000_000
	refundOutputs   = 20
	stationSun      = 500_000_000_000
	stationStake    = 1_000_000_000_000 // enough energy for dozens of transfers
	stationLamports = 10_000_000_000
	treasurySun     = 1_000_000
	treasuryToken   = 1
	nonceRent       = 1_447_680
	signatureFee    = 5_000
)

// Furnish finds the stations of the signer behind a socket, gives them and the treasuries what they need, and lets
// every chain make blocks until ctx ends.
func (n *Networks) Furnish(ctx context.Context, socket string) error {
	stations, refunds, err := stationsOf(ctx, socket)
	if err != nil {
		return err
	}
	n.Stations, n.Refunds = stations, refunds
	for _, c := range n.Chains {
		if err := n.furnish(ctx, c); err != nil {
			return fmt.Errorf("furnishing %s: %w", c.Network, err)
		}
	}
	return nil
}

func (n *Networks) furnish(ctx context.Context, c Chain) error {
	give := func(asset, to string, units int64) error {
		token := asset
		if asset == c.Coin().Symbol {
			token = ""
		}
		if _, err := c.Node.Pay(ctx, token, to, fmt.Sprint(units)); err != nil {
			return err
		}
		n.given(c.Network, asset, units)
		return nil
	}
	station, refunds := n.Stations[c.Family], n.Refunds[c.Family]
	if c.Payer != "" && refunds == "" {
		return errors.New("the signer has no refund station here")
	}
	switch c.Family {
	case "evm":
		err := errors.Join(give("ETH", station, stationWei), give("USDT", refunds, refundTokens))
		for range refundGifts {
			err = errors.Join(err, give("ETH", refunds, stationWei))
		}
		return err
	case "tron":
		err := give("TRX", station, stationSun)
		if err == nil {
			err = give("TRX", c.Treasury, treasurySun)
		}
		if err == nil {
			err = give("USDT", c.Treasury, treasuryToken)
		}
		if err == nil {
			err = give("TRX", refunds, refundSun)
		}
		if err == nil {
			err = give("USDT", refunds, refundTokens)
		}
		if err != nil {
			return err
		}
		if err := c.Node.Control(ctx, "/finality", map[string]any{"depth": 3}, nil); err != nil {
			return err
		}
		return c.Node.Control(ctx, "/set", map[string]any{"every": "300ms", "stake": map[string]int64{station: stationStake}}, nil)
	case "solana":
		if err := n.furnishSolana(ctx, c, station, refunds); err != nil {
			return err
		}
		go c.mine(ctx, 400*time.Millisecond)
	case "bitcoin":
		for range refundOutputs {
			if err := give("BTC", refunds, refundSats); err != nil {
				return err
			}
		}
		go c.mine(ctx, time.Second)
	}
	return nil
}

// furnishSolana writes accounts into the VM: the stations' coins and nonce accounts, and the token accounts of the
// treasury and of the refund station.
func (n *Networks) furnishSolana(ctx context.Context, c Chain, station, refunds string) error {
	for at, has := range map[string]struct {
		lamports int64
		nonces   map[string]string
	}{station: {stationLamports, nonces}, refunds: {refundLamports, refundNonces}} {
		if err := c.Node.call(ctx, "surfnet_setAccount", at, map[string]any{"lamports": has.lamports}); err != nil {
			return err
		}
		n.given(c.Network, c.Coin().Symbol, has.lamports)
		if err := c.setNonces(ctx, at, has.nonces); err != nil {
			return err
		}
	}
	for _, a := range c.Assets[1:] {
		for owner, units := range map[string]int64{c.Treasury: 0, refunds: refundTokens} {
			if err := c.Node.call(ctx, "surfnet_setTokenAccount", owner, a.Contract, map[string]any{"amount": units}); err != nil {
				return err
			}
			n.given(c.Network, a.Symbol, units)
		}
	}
	return c.Node.Control(ctx, "/finality", map[string]any{"depth": 3}, nil)
}

// setNonces writes nonce accounts whose authority is a station.
func (c Chain) setNonces(ctx context.Context, station string, accounts map[string]string) error {
	authority, err := chain.Base58(station)
	if err != nil {
		return err
	}
	for at, value := range accounts {
		start, err := chain.Base58(value)
		if err != nil {
			return err
		}
		data := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 1), 1)
		data = append(append(data, authority...), start...)
		data = binary.LittleEndian.AppendUint64(data, signatureFee)
		account := map[string]any{"lamports": nonceRent, "data": hex.EncodeToString(data), "owner": "11111111111111111111111111111111"}
		if err := c.Node.call(ctx, "surfnet_setAccount", at, account); err != nil {
			return err
		}
	}
	return nil
}

// mine makes a block this often until ctx ends. A node that cannot is asked again.
func (c Chain) mine(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = c.Node.Control(ctx, "/mine", map[string]any{"blocks": 1}, nil)
		}
	}
}

const askTimeout = 30 * time.Second

// stationsOf asks the signer which addresses pay for gas, and which for refunds.
func stationsOf(ctx context.Context, socket string) (gas, refunds map[string]string, err error) {
	client := http.Client{Timeout: askTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://signer/v1/stations", http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("asking the signer for its stations: %w", err)
	}
	defer response.Body.Close()
	var told struct {
		EVM, Tron, Solana string
		Refunds           map[string]string
	}
	if err := json.NewDecoder(response.Body).Decode(&told); err != nil {
		return nil, nil, fmt.Errorf("asking the signer for its stations: %s: %w", response.Status, err)
	}
	return map[string]string{"evm": told.EVM, "tron": told.Tron, "solana": told.Solana}, told.Refunds, nil
}
