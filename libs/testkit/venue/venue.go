// Package venue is an HTTP server with the documented answers of the sources of prices: Binance, Coinbase, Kraken,
// Quidax, Luno, Paycrest and open.er-api. A test sets prices, and faults of single sources: slow, wrong, zero, huge,
// truncated and missing answers. It shares no code with its callers.
package venue

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The sources, which are also the first segment of their paths here.
const (
	Binance    = "binance"
	Coinbase   = "coinbase"
	CoinbaseFX = "coinbase-fx"
	Kraken     = "kraken"
	Quidax     = "quidax"
	Luno       = "luno"
	Paycrest   = "paycrest"
	ERAPI      = "open.er-api"
)

// Sources lists all of them.
func Sources() []string {
	return []string{Binance, Coinbase, CoinbaseFX, Kraken, Quidax, Luno, Paycrest, ERAPI}
}

// Fault is a fault of a source.
type Fault string

// The faults. Those from Zero on replace every price in an otherwise correct answer.
const (
	Fine      Fault = ""
	Slow      Fault = "slow"      // never answers
	Page      Fault = "page"      // an HTML page with status 200
	Empty     Fault = "empty"     // an empty JSON object or list
	Status500 Fault = "500"       //
	Status429 Fault = "429"       //
	Status451 Fault = "451"       // Binance, to some countries
	Redirect  Fault = "redirect"  //
	Truncated Fault = "truncated" // breaks off in the middle
	TooLarge  Fault = "too large" // the right answer with megabytes of blanks before it
	Refusal   Fault = "refusal"   // the source's own way of saying no
	Zero      Fault = "0"
	Negative  Fault = "-1"
	NaN       Fault = "NaN"
	Infinity  Fault = "Infinity"
	Huge      Fault = "1e400000000"
	Large     Fault = "123456789012345678901234567890"
	Words     Fault = "a lot"
	Null      Fault = "null"
)

// Faults lists every fault.
func Faults() []Fault {
	return []Fault{
		Slow, Page, Empty, Status500, Status429, Status451, Redirect, Truncated, TooLarge, Refusal, Zero, Negative, NaN, Infinity, Huge,
		Large, Words, Null,
	}
}

// Server is the sources.
type Server struct {
	URL string

	mu     sync.Mutex
	prices map[string]string // "kraken BTC/USD": the price of that source; else "BTC/USD": the price of all
	faults map[string]Fault
	reads  map[string]int
	lag    map[string]time.Duration
	gone   chan struct{}
}

// Start serves until the test ends, with prices near those of the fixed table.
func Start(t testing.TB) *Server {
	s := &Server{faults: map[string]Fault{}, reads: map[string]int{}, lag: map[string]time.Duration{}, gone: make(chan struct{}), prices: map[string]string{
		"BTC/USD": "93750", "ETH/USD": "3200", "BNB/USD": "900", "POL/USD": "0.25", "TRX/USD": "0.3", "SOL/USD": "160", "USDT/USD": "1.0001",
		"USDC/USD": "1", "BTC/USDT": "93741", "ETH/USDT": "3199.7", "BNB/USDT": "899.9", "POL/USDT": "0.25", "TRX/USDT": "0.3",
		"SOL/USDT": "159.98", "USDC/USDT": "0.9999", "USDT/NGN": "1600", "USDT/GHS": "12.5", "USDT/KES": "129.8", "USDT/ZAR": "18.01",
		"BTC/ZAR": "1687500", "BTC/NGN": "150000000", "USD/NGN": "1550", "USD/GHS": "12.52", "USD/KES": "130", "USD/ZAR": "18",
	}}
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		close(s.gone)
		server.Close()
	})
	return s
}

// Base is the address of one source.
func (s *Server) Base(source string) string { return s.URL + "/" + source }

// Price sets the price of a pair such as "BTC/USD" at every source; "kraken BTC/USD" sets that of one source.
func (s *Server) Price(name, price string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prices[name] = price
}

// Break gives a source a fault.
func (s *Server) Break(source string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[source] = f
}

// Lag makes the times in a source's answers older than they are.
func (s *Server) Lag(source string, by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag[source] = by
}

// Reads is how often a source was read.
func (s *Server) Reads(source string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[source]
}

// ServeHTTP answers as the source of the path's first segment.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.mu.Lock()
	s.reads[source]++
	q := quoter{source: source, prices: maps.Clone(s.prices), fault: s.faults[source], now: time.Now().Add(-s.lag[source]), n: s.reads[source]}
	s.mu.Unlock()
	switch q.fault {
	case Slow:
		select {
		case <-r.Context().Done():
		case <-s.gone:
		}
		return
	case Page:
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><body>Just a moment…</body></html>"))
		return
	case Status500, Status429, Status451:
		http.Error(w, `{"message":"no"}`, map[Fault]int{Status500: 500, Status429: 429, Status451: 451}[q.fault])
		return
	case Redirect:
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
		return
	default:
	}
	body, status := q.answer("/"+path, r.URL.Query().Get)
	w.Header().Set("Content-Type", "application/json")
	switch q.fault {
	case Truncated:
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write([]byte(body[:len(body)/2]))
		return
	case TooLarge:
		_, _ = w.Write([]byte(strings.Repeat(" ", 4<<20)))
	default:
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// quoter writes one answer.
type quoter struct {
	source string
	prices map[string]string
	fault  Fault
	now    time.Time
	n      int
}

// price is the source's price of a pair: a number of plain digits, or its fault's replacement.
func (q quoter) price(pair string) string {
	switch q.fault {
	case Zero, Negative, NaN, Infinity, Huge, Large, Words, Null:
		return string(q.fault)
	default:
	}
	if p, ok := q.prices[q.source+" "+pair]; ok {
		return p
	}
	return q.prices[pair]
}

// quoted is the price as a JSON string, as most sources send it.
func (q quoter) quoted(pair string) string { return `"` + q.price(pair) + `"` }

// bare is the price as a JSON number.
func (q quoter) bare(pair string) string {
	switch q.fault {
	case NaN, Infinity, Words: // no JSON at all
		return `"` + string(q.fault) + `"`
	default:
		return q.price(pair)
	}
}

var coins = []string{"BTC", "ETH", "BNB", "POL", "TRX", "SOL", "USDT", "USDC"}

func (q quoter) answer(path string, query func(string) string) (body string, status int) {
	if q.fault == Empty {
		return map[bool]string{true: "[]", false: "{}"}[q.source == Binance], http.StatusOK
	}
	switch q.source {
	case Binance:
		return q.binance(query("symbols"))
	case Coinbase:
		return q.coinbase(path)
	case CoinbaseFX:
		return q.coinbaseFX(query("currency"))
	case Kraken:
		return q.kraken(query("pair"))
	case Quidax:
		return q.quidax(path)
	case Luno:
		return q.luno(path)
	case Paycrest:
		return q.paycrest(path)
	case ERAPI:
		return q.erapi(path)
	}
	return `{"message":"no such source"}`, http.StatusNotFound
}

func (q quoter) binance(symbols string) (string, int) {
	if q.fault == Refusal || symbols == "" {
		return `{"code":-1121,"msg":"Invalid symbol."}`, http.StatusBadRequest
	}
	var rows []string
	for symbol := range strings.SplitSeq(strings.Trim(symbols, "[]"), ",") {
		symbol = strings.Trim(symbol, `"`)
		price := q.quoted(strings.TrimSuffix(symbol, "USDT") + "/USDT")
		rows = append(rows, fmt.Sprintf(`{"symbol":%q,"bidPrice":%s,"bidQty":"%d.43100000","askPrice":%s,"askQty":"9.00000200"}`, symbol, price, q.n, ask(price)))
	}
	return "[" + strings.Join(rows, ",") + "]", http.StatusOK
}

// ask is a tick above the bid where the bid is a plain number with a fraction or without one.
func ask(bid string) string {
	text := strings.Trim(bid, `"`)
	if text == "" || strings.Trim(text, "0123456789.") != "" || strings.Trim(text, "0.") == "" {
		return bid
	}
	if !strings.Contains(text, ".") {
		text += "."
	}
	return `"` + text + `0001"`
}

func (q quoter) coinbase(path string) (string, int) {
	product := strings.TrimSuffix(strings.TrimPrefix(path, "/products/"), "/ticker")
	base, dollar, _ := strings.Cut(product, "-")
	if q.fault == Refusal || dollar != "USD" || !slices.Contains(coins, base) {
		return `{"message":"NotFound"}`, http.StatusNotFound
	}
	price := q.quoted(base + "/USD")
	return fmt.Sprintf(`{"ask":%s,"bid":%s,"volume":"18246.47","trade_id":%d,"price":%s,"size":"0.00026","time":%q,"rfq_volume":"82.6"}`,
		ask(price), price, 1000+q.n, price, q.now.UTC().Format("2006-01-02T15:04:05.000000Z")), http.StatusOK
}

func (q quoter) coinbaseFX(currency string) (string, int) {
	if q.fault == Refusal || currency != "USD" {
		return `{"errors":[{"id":"invalid_request","message":"Currency is invalid"}]}`, http.StatusBadRequest
	}
	return fmt.Sprintf(`{"data":{"currency":"USD","rates":{"AED":"3.6725","GHS":%s,"KES":%s,"NGN":%s,"ZAR":%s,"BTC":"0.0000106"}}}`,
		q.quoted("USD/GHS"), q.quoted("USD/KES"), q.quoted("USD/NGN"), q.quoted("USD/ZAR")), http.StatusOK
}

func (q quoter) kraken(pairs string) (string, int) {
	if q.fault == Refusal || pairs == "" {
		return `{"error":["EQuery:Unknown asset pair"]}`, http.StatusOK
	}
	renamed := map[string]string{"XBTUSD": "XXBTZUSD", "ETHUSD": "XETHZUSD", "USDTUSD": "USDTZUSD"}
	var rows []string
	for name := range strings.SplitSeq(pairs, ",") {
		base := strings.TrimSuffix(name, "USD")
		if base == "XBT" {
			base = "BTC"
		}
		if full, ok := renamed[name]; ok {
			name = full
		}
		price := q.quoted(base + "/USD")
		rows = append(rows, fmt.Sprintf(`%q:{"a":[%s,"1","1.000"],"b":[%s,"1","1.000"],"c":[%s,"0.0015"],"v":["%d.1","2.2"],"p":["1","1"],"t":[%d,22],"l":["1","1"],"h":["1","1"],"o":"1"}`,
			name, ask(price), price, price, q.n, q.n))
	}
	return `{"error":[],"result":{` + strings.Join(rows, ",") + `}}`, http.StatusOK
}

func (q quoter) quidax(path string) (string, int) {
	if q.fault == Refusal || path != "/api/v1/markets/tickers/usdtngn" {
		return `{"status":"error","message":"Market not found","data":null}`, http.StatusNotFound
	}
	price := q.quoted("USDT/NGN")
	return fmt.Sprintf(`{"status":"success","message":"Successful","data":{"at":%d,"ticker":{"buy":%s,"sell":%s,"low":"1590.0","high":"1610.0","open":"1598.0","last":%s,"vol":"43092.1"}}}`,
		q.now.Unix(), price, ask(price), price), http.StatusOK
}

func (q quoter) luno(path string) (string, int) {
	if q.fault == Refusal || path != "/api/1/tickers" {
		return `{"error":"Too many requests","error_code":"ErrTooManyRequests"}`, http.StatusTooManyRequests
	}
	row := func(pair, price, status string) string {
		return fmt.Sprintf(`{"pair":%q,"timestamp":%d,"bid":%s,"ask":%s,"last_trade":%s,"rolling_24_hour_volume":"18.9","status":%q}`,
			pair, q.now.UnixMilli(), price, ask(price), price, status)
	}
	return `{"tickers":[` + strings.Join([]string{
		row("XBTZAR", q.quoted("BTC/ZAR"), "ACTIVE"), row("USDTZAR", q.quoted("USDT/ZAR"), "ACTIVE"),
		row("XBTNGN", q.quoted("BTC/NGN"), "DISABLED"), row("ETHXBT", `"0.03"`, "ACTIVE"),
	}, ",") + `]}`, http.StatusOK
}

func (q quoter) paycrest(path string) (string, int) {
	cur := strings.ToUpper(path[strings.LastIndex(path, "/")+1:])
	if q.fault == Refusal || !strings.HasPrefix(path, "/v1/rates/usdt/") || cur == "ZAR" {
		return `{"status":"error","message":"Fiat currency is not supported","data":null}`, http.StatusBadRequest
	}
	return `{"status":"success","message":"Rate fetched successfully","data":` + q.quoted("USDT/"+cur) + `}`, http.StatusOK
}

func (q quoter) erapi(path string) (string, int) {
	if q.fault == Refusal || path != "/v6/latest/USD" {
		return `{"result":"error","error-type":"unsupported-code"}`, http.StatusNotFound
	}
	return fmt.Sprintf(`{"result":"success","provider":"https://www.exchangerate-api.com","time_last_update_unix":%d,"time_next_update_unix":%d,"base_code":"USD","rates":{"USD":1,"GHS":%s,"KES":%s,"NGN":%s,"ZAR":%s}}`,
		q.now.Unix(), q.now.Add(24*time.Hour).Unix(), q.bare("USD/GHS"), q.bare("USD/KES"), q.bare("USD/NGN"), q.bare("USD/ZAR")), http.StatusOK
}
