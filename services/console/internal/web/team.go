package web

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/store"
)

const pageSize = 25

// teamPage is the content of the pages about a team.
type teamPage struct {
	Form    *Form
	Members []store.Member
	Invited []people.Link
	Acts    []store.Act
	Pager   *Pager
	Member  store.Member
	Roles   []people.Role
	Follow  string // the link of an invitation, where there is no mail
	Sent    string
}

// belongs refuses a person who is no member, or no longer: all operators share the merchant "".
func (v *Visit) belongs() error {
	if len(v.Memberships) == 0 {
		return errForbidden
	}
	return nil
}

func showTeam(v *Visit) error {
	c, ctx := v.console, v.Context()
	if err := v.belongs(); err != nil {
		return err
	}
	page := teamPage{Pager: v.NewPager(), Follow: v.Take("invitation")}
	var err error
	if page.Members, err = c.Store.Team(ctx, v.Member.MerchantID, page.Pager.After, pageSize+1); err != nil {
		return err
	}
	if len(page.Members) > pageSize {
		page.Members = page.Members[:pageSize]
		v.More(page.Pager, page.Members[pageSize-1].Login)
	}
	if page.Invited, err = c.Store.Invitations(ctx, v.Member.MerchantID); err != nil {
		return err
	}
	return v.Render("team", "team.title", page)
}

func (c *Console) roles() []people.Role { return people.Roles(c.Door) }

func showInvite(v *Visit) error {
	return v.Render("team-invite", "invite.title", teamPage{Form: v.Form(nil), Roles: v.console.roles()})
}

func invite(v *Visit) error {
	c := v.console
	f := v.Form(nil)
	login, ok := people.Login(c.Door, f.Get("login"))
	if !ok {
		f.Err("login", v.T("invite.login.wrong"))
	}
	role := people.Role(f.Get("role"))
	if !slices.Contains(c.roles(), role) {
		f.Err("role", v.T("form.needed"))
	}
	if f.OK() {
		if err := c.limits.letter(v.Context(), v.Person.ID, login); err != nil && !v.Refused(f, err) {
			return err
		}
	}
	if !f.OK() {
		return v.Refuse("team-invite", "invite.title", teamPage{Form: f, Roles: c.roles()})
	}
	link := people.Link{
		Purpose: people.Join, Login: login, MerchantID: v.Member.MerchantID, MerchantName: v.Member.MerchantName, Role: role,
		CreatedBy: v.Person.Login, ExpiresAt: c.Now().Add(inviteLife),
	}
	address, err := v.makeLink(link)
	if err != nil {
		return err
	}
	if err := v.Record("invited", login+" · "+string(role)); err != nil {
		return err
	}
	v.deliver(link, address)
	return v.Redirect("/team")
}

// deliver mails an invitation. If it cannot be mailed, the inviter sees the link on the next page.
func (v *Visit) deliver(link people.Link, address string) {
	c := v.console
	if !c.Mail.Sends() || !strings.Contains(link.Login, "@") {
		v.Keep("invitation", address)
		return
	}
	err := c.Mail.Send(v.Context(), link.Login, v.T("mail.invite.subject", "merchant", v.Member.Shown()), v.T("mail.invite.text",
		"by", v.Person.Called(), "merchant", v.Member.Shown(), "role", v.speech.Word("role", link.Role), "link", address))
	if err != nil {
		c.Log.ErrorContext(v.Context(), "invitation not mailed", "merchant_id", v.Member.MerchantID, "err", err)
		v.Notice("invite.unsent", "login", link.Login)
		v.Keep("invitation", address)
		return
	}
	v.Notice("invite.sent", "login", link.Login)
}

// withdrawInvitation ends an invitation that nobody has used.
func withdrawInvitation(v *Visit) error {
	id, err := strconv.ParseInt(v.Param("id"), 10, 64)
	if err != nil {
		return store.ErrUnknown
	}
	if err := v.console.Store.Withdraw(v.Context(), v.Member.MerchantID, id); err != nil {
		return err
	}
	if err := v.Record("invitation_withdrawn", ""); err != nil {
		return err
	}
	v.Notice("invite.withdrawn")
	return v.Redirect("/team")
}

// member finds the member of the team that the path names.
func (v *Visit) member() (store.Member, error) {
	c, ctx := v.console, v.Context()
	who, err := c.Store.Person(ctx, v.Param("id"))
	if err != nil {
		return store.Member{}, err
	}
	of, err := c.Store.Memberships(ctx, who.ID)
	if err != nil {
		return store.Member{}, err
	}
	for _, m := range of {
		if m.MerchantID == v.Member.MerchantID {
			return store.Member{Person: who, Membership: m}, nil
		}
	}
	return store.Member{}, store.ErrUnknown
}

func showMember(v *Visit) error {
	m, err := v.member()
	if err != nil {
		return err
	}
	return v.Render("team-member", "member.title", teamPage{Form: v.Form(url.Values{"role": {string(m.Role)}}), Member: m, Roles: v.console.roles()})
}

// changeMember gives a member another role, or removes the member. A member's sessions go on; each request reads the
// role anew.
func changeMember(v *Visit) error {
	c := v.console
	m, err := v.member()
	if err != nil {
		return err
	}
	f := v.Form(nil)
	role := people.Role(f.Get("role"))
	if role != "" && !slices.Contains(c.roles(), role) {
		f.Err("role", v.T("form.needed"))
		return v.Refuse("team-member", "member.title", teamPage{Form: f, Member: m, Roles: c.roles()})
	}
	if f.Get("do") == "remove" {
		role = ""
	}
	err = c.Store.ChangeRole(v.Context(), v.Member.MerchantID, m.Person.ID, role, c.roles()[0])
	if errors.Is(err, store.ErrLastOwner) {
		f.Problem = v.T("member.last_owner")
		return v.Refuse("team-member", "member.title", teamPage{Form: f, Member: m, Roles: c.roles()})
	}
	if err != nil {
		return err
	}
	act, about := "role_changed", m.Login+" · "+string(role)
	if role == "" {
		act, about = "removed", m.Login
	}
	if err := v.Record(act, about); err != nil {
		return err
	}
	v.Notice("member.saved", "name", m.Called())
	return v.Redirect("/team")
}

// showActs lists the acts of people on people.
func showActs(v *Visit) error {
	if err := v.belongs(); err != nil {
		return err
	}
	page := teamPage{Pager: v.NewPager()}
	var before int64
	if page.Pager.After != "" {
		var err error
		if before, err = strconv.ParseInt(page.Pager.After, 10, 64); err != nil {
			return store.ErrUnknown
		}
	}
	acts, err := v.console.Store.Acts(v.Context(), v.Member.MerchantID, before, pageSize+1)
	if err != nil {
		return err
	}
	if len(acts) > pageSize {
		acts = acts[:pageSize]
		v.More(page.Pager, strconv.FormatInt(acts[pageSize-1].ID, 10))
	}
	page.Acts = acts
	return v.Render("team-acts", "acts.title", page)
}
