// Package session keeps the person of a browser signed in between its requests. The cookie is a random token;
// everything else is in the database, by the hash of the token, so that the person can list and revoke sessions.
package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/gob"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/alexedwards/scs/v2"

	"causeway.internal/libs/person"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/console/internal/store"
)

// Life is the longest time of a session, however often it is used.
const Life = 7 * 24 * time.Hour

// Freshness is the age of a sign-in after which a person must prove their identity again before money moves or a page
// shows a key.
const Freshness = 5 * time.Minute

// Store keeps the sessions.
type Store interface {
	FindSession(ctx context.Context, token string) (data []byte, ok bool, err error)
	CommitSession(ctx context.Context, token, personID string, data []byte, about store.Seen, expires time.Time) error
	EndSession(ctx context.Context, token string) error
	SessionOf(ctx context.Context, token string) (personID string, err error)
}

// Manager reads and writes the session of a request, which is in the request's context.
type Manager struct {
	scs  *scs.SessionManager
	keep Store
	now  func() time.Time
}

// Parked is a form that was sent without a sign-in, or without a fresh one: the console shows it again, filled in.
type Parked struct {
	Person string // owner of the form; "" for nobody, who has a path alone
	Path   string // below the door
	Form   url.Values
	At     time.Time
}

// Ceremony is the state of a passkey's ceremony between its two requests.
type Ceremony struct {
	Data []byte // JSON of the library
	For  string // what the ceremony is for
	At   time.Time
}

func init() { //nolint:gochecknoinits // gob needs the registration of types
	gob.Register(Parked{})
	gob.Register(Ceremony{})
	gob.Register(url.Values{})
	gob.Register(time.Time{})
}

// New makes a manager. cookie is the name of the cookie without its prefix; secure is false on plain http.
func New(keep Store, cookie string, secure bool, now func() time.Time, fail func(http.ResponseWriter, *http.Request, error)) *Manager {
	m := scs.New()
	m.Lifetime = Life
	m.HashTokenInStore = true
	m.ErrorFunc = fail
	m.Cookie.Name, m.Cookie.Secure = cookie, secure
	if secure {
		m.Cookie.Name = person.HostPrefix + cookie
	}
	m.Store = adapter{keep: keep, scs: m}
	return &Manager{scs: m, keep: keep, now: now}
}

// Load puts the session of a request into its context, and writes it back if it has changed.
func (m *Manager) Load(next http.Handler) http.Handler { return m.scs.LoadAndSave(next) }

// Knew is the person of the session that the cookie of a request names, even if that session has ended; "" is nobody.
func (m *Manager) Knew(r *http.Request) (personID string, err error) {
	cookie, err := r.Cookie(m.scs.Cookie.Name)
	if err != nil {
		return "", nil //nolint:nilerr // no cookie
	}
	sum := sha256.Sum256([]byte(cookie.Value)) // as the library hashes tokens for the store
	return m.keep.SessionOf(r.Context(), base64.RawURLEncoding.EncodeToString(sum[:]))
}

// The names of the values in a session.
const (
	keyID       = "id"
	keyPerson   = "person"
	keyMerchant = "merchant"
	keyMode     = "mode"
	keyProved   = "proved"
	keyParked   = "parked"
	keyHalf     = "half"
	keyLink     = "link"
	keyCeremony = "ceremony"
	keyNotice   = "notice"
	keyAddress  = "address"
	keyAgent    = "agent"
)

const agentMax = 200

// Begin signs a person in: the session gets a new token and loses its earlier values, except a parked form that belongs
// to nobody else.
func (m *Manager) Begin(ctx context.Context, personID, address, agent string) error {
	if err := m.renew(ctx, personID); err != nil {
		return err
	}
	m.scs.SetDeadline(ctx, m.now().Add(Life))
	m.scs.Put(ctx, keyID, "ses_"+rand.Text())
	m.scs.Put(ctx, keyPerson, personID)
	m.scs.Put(ctx, keyAddress, address)
	m.scs.Put(ctx, keyAgent, agent[:min(len(agent), agentMax)])
	m.Prove(ctx)
	return nil
}

// renew gives the session a new token and takes all values from it, but a waiting invitation and a parked form that
// belongs to nobody else. A person who was signed in is not any more.
func (m *Manager) renew(ctx context.Context, personID string) error {
	parked, keep := m.scs.Get(ctx, keyParked).(Parked)
	keep = keep && (parked.Person == "" || parked.Person == personID)
	link := m.scs.Get(ctx, keyLink)
	if err := m.scs.RenewToken(ctx); err != nil {
		return err
	}
	if err := m.scs.Clear(ctx); err != nil {
		return err
	}
	if keep {
		m.scs.Put(ctx, keyParked, parked)
	}
	if link != nil {
		m.scs.Put(ctx, keyLink, link)
	}
	return nil
}

// End signs the person out.
func (m *Manager) End(ctx context.Context) error { return m.scs.Destroy(ctx) }

// Person is the id of the signed-in person, "" for nobody.
func (m *Manager) Person(ctx context.Context) string { return m.scs.GetString(ctx, keyPerson) }

// ID is the name of the session in lists.
func (m *Manager) ID(ctx context.Context) string { return m.scs.GetString(ctx, keyID) }

// Prove records that the person has just proved their identity.
func (m *Manager) Prove(ctx context.Context) { m.scs.Put(ctx, keyProved, m.now().UTC()) }

// Fresh reports whether the person has proved their identity recently.
func (m *Manager) Fresh(ctx context.Context) bool {
	return m.now().Sub(m.scs.GetTime(ctx, keyProved)) < Freshness
}

// Scope is the merchant and the mode of the pages. The merchant is "" until the person chooses one.
func (m *Manager) Scope(ctx context.Context) (merchantID string, mode tenant.Mode) {
	mode = tenant.Mode(m.scs.GetString(ctx, keyMode))
	if !mode.Valid() {
		mode = tenant.Test
	}
	return m.scs.GetString(ctx, keyMerchant), mode
}

// Choose changes the merchant and the mode.
func (m *Manager) Choose(ctx context.Context, merchantID string, mode tenant.Mode) {
	m.scs.Put(ctx, keyMerchant, merchantID)
	m.scs.Put(ctx, keyMode, string(mode))
}

// parkedLife is how long a parked form waits.
const parkedLife = time.Hour

// Park keeps a form until its person has signed in.
func (m *Manager) Park(ctx context.Context, personID, path string, form url.Values) {
	m.scs.Put(ctx, keyParked, Parked{Person: personID, Path: path, Form: form, At: m.now().UTC()})
}

// Parked returns the path of the parked form, "" without one.
func (m *Manager) Parked(ctx context.Context) string {
	p, _ := m.scs.Get(ctx, keyParked).(Parked)
	if m.now().Sub(p.At) > parkedLife {
		return ""
	}
	return p.Path
}

// Unpark takes the parked form of a path.
func (m *Manager) Unpark(ctx context.Context, path string) url.Values {
	p, ok := m.scs.Get(ctx, keyParked).(Parked)
	if !ok || p.Path != path {
		return nil
	}
	m.scs.Remove(ctx, keyParked)
	if m.now().Sub(p.At) > parkedLife {
		return nil
	}
	return p.Form
}

// halfLife is the time between a password and its second factor.
const halfLife = 10 * time.Minute

// Half records that a person has given the right password and owes the second factor. Nobody is signed in until then.
func (m *Manager) Half(ctx context.Context, personID string) error {
	if err := m.renew(ctx, personID); err != nil {
		return err
	}
	m.scs.Put(ctx, keyHalf, personID)
	m.scs.Put(ctx, keyHalf+".at", m.now().UTC())
	return nil
}

// Owing is the person who owes the second factor, "" for nobody.
func (m *Manager) Owing(ctx context.Context) string {
	if m.now().Sub(m.scs.GetTime(ctx, keyHalf+".at")) > halfLife {
		return ""
	}
	return m.scs.GetString(ctx, keyHalf)
}

// HoldLink keeps the hash of an invitation until its person has signed in.
func (m *Manager) HoldLink(ctx context.Context, hash []byte) { m.scs.Put(ctx, keyLink, hash) }

// Link is the hash of the waiting invitation.
func (m *Manager) Link(ctx context.Context) []byte { return m.scs.GetBytes(ctx, keyLink) }

// DropLink forgets the invitation.
func (m *Manager) DropLink(ctx context.Context) { m.scs.Remove(ctx, keyLink) }

const ceremonyLife = 5 * time.Minute

// Start keeps the state of a passkey's ceremony.
func (m *Manager) Start(ctx context.Context, purpose string, data []byte) {
	m.scs.Put(ctx, keyCeremony, Ceremony{Data: data, For: purpose, At: m.now().UTC()})
}

// Finish takes the state of a ceremony, which works once.
func (m *Manager) Finish(ctx context.Context, purpose string) ([]byte, bool) {
	c, ok := m.scs.Pop(ctx, keyCeremony).(Ceremony)
	if !ok || c.For != purpose || m.now().Sub(c.At) > ceremonyLife {
		return nil, false
	}
	return c.Data, true
}

// Notice keeps a text for the next page: the key and its parameters.
func (m *Manager) Notice(ctx context.Context, text ...string) { m.scs.Put(ctx, keyNotice, text) }

// TakeNotice takes the text for this page.
func (m *Manager) TakeNotice(ctx context.Context) []string {
	text, _ := m.scs.Get(ctx, keyNotice).([]string)
	if text != nil {
		m.scs.Remove(ctx, keyNotice)
	}
	return text
}

// Set keeps a text for one page until Take, such as a secret that is shown once.
func (m *Manager) Set(ctx context.Context, name, text string) { m.scs.Put(ctx, "page."+name, text) }

// Peek reads a text that a page keeps.
func (m *Manager) Peek(ctx context.Context, name string) string {
	return m.scs.GetString(ctx, "page."+name)
}

// Take takes a text that a page keeps.
func (m *Manager) Take(ctx context.Context, name string) string {
	text := m.Peek(ctx, name)
	if text != "" {
		m.scs.Remove(ctx, "page."+name)
	}
	return text
}

// adapter gives the library the store, with the data that a list of sessions shows.
type adapter struct {
	keep Store
	scs  *scs.SessionManager
}

var errNoContext = errors.New("sessions need a context")

func (a adapter) Find(string) ([]byte, bool, error)      { return nil, false, errNoContext }
func (a adapter) Commit(string, []byte, time.Time) error { return errNoContext }
func (a adapter) Delete(string) error                    { return errNoContext }

// FindCtx implements scs.CtxStore.
func (a adapter) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	return a.keep.FindSession(ctx, token)
}

// CommitCtx implements scs.CtxStore.
func (a adapter) CommitCtx(ctx context.Context, token string, data []byte, expires time.Time) error {
	_, values, err := a.scs.Codec.Decode(data) // the session itself is locked here
	if err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	text := func(key string) string { s, _ := values[key].(string); return s }
	about := store.Seen{ID: text(keyID), Address: text(keyAddress), Agent: text(keyAgent)}
	if about.ID == "" { // nobody is signed in: such a session has a short life
		about.ID = "ses_" + token
		if soon := time.Now().Add(parkedLife); expires.After(soon) {
			expires = soon
		}
	}
	return a.keep.CommitSession(ctx, token, text(keyPerson), data, about, expires)
}

// DeleteCtx implements scs.CtxStore.
func (a adapter) DeleteCtx(ctx context.Context, token string) error {
	return a.keep.EndSession(ctx, token)
}
