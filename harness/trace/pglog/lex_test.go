package pglog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"xidlab/harness/trace"
)

func TestStatements(t *testing.T) {
	for _, c := range []struct {
		sql  string
		want string // tokens by spaces, statements by |
		ok   bool
	}{
		{"select 1; select 2", "select 1|select 2", true},
		{" ;; ; select 1;", "select 1", true},
		{"", "", true},
		{"select ';' || 'it''s;'; x", "select ; | | it's;|x", true},
		{`select E'a\';b', 'a\'; x`, `select a';b , a\|x`, true},
		{`select "a;""b" from T`, `select a;"b from t`, true},
		{"select $$;$$, $a$ $$; $a$; x", "select ; ,  $$; |x", true},
		{"select $1, a$1$b; x", "select $1 , a$1$b|x", true},
		{"select 1 -- ; '\n; x /* ; /* ; */ ' */; y", "select 1|x|y", true},
		{"select a-1, 1.5e3, .5", "select a - 1 , 1.5e3 , .5", true},
		{`select U&'d\0061;', N'x', B'01', X'ff'`, `select d\0061; , x , 01 , ff`, true},
		{"create rule r as on insert to t do (select 1; select 2); x", "create rule r as on insert to t do ( select 1 ; select 2 )|x", true},
		{"create or replace function f() begin atomic select case when a then 1 end; select 2; end; x",
			"create or replace function f ( ) begin atomic select case when a then 1 end ; select 2 ; end|x", true},
		{"create procedure p() begin atomic end; begin; x", "create procedure p ( ) begin atomic end|begin|x", true},
		{"select 'abc", "select abc", false},
		{"select $x$ abc", "select  abc", false},
		{"select /* /* */", "select", false},
		{`select "abc`, "select abc", false},
		{"select é, $", "select é , $", true},
	} {
		lists, ok := statements(c.sql)
		var stmts []string
		for _, ts := range lists {
			var words []string
			for _, tok := range ts {
				words = append(words, tok.text)
			}
			stmts = append(stmts, strings.Join(words, " "))
		}
		if got := strings.Join(stmts, "|"); got != c.want || ok != c.ok {
			t.Errorf("%q: got %q, %v, want %q, %v", c.sql, got, ok, c.want, c.ok)
		}
	}
}

func TestUnderstand(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		// One table, and a conjunction with an equality: the key.
		{"select a from t where aid = 5", "r t[aid=5]"},
		{"select a from only t x where x.aid = -5 order by b = 3 limit 1", "r t[aid=-5]"},
		{"select a from s.t where 'x' = b and a = 1", "r s.t[a=1]"},
		{"select a from t where (a = '5'::varchar(10))", "r t[a=5]"},
		{"select a from t where a between 1 and 2 and b = 3", "r t[b=3]"},
		{"select a from t where a = 1 or b = 2", "r t"},
		{"select a from t where a >= 1", "r t"},
		{"select a from t where a <> 1", "r t"},
		{"select a from t where a = b", "r t"},
		{"select a from t where a = 1 + b", "r t"},
		{"select a from t where not a = 1", "r t"},
		{"select a from t where f(a) = 1", "r t"},
		{"select a from t where a = $1", "r t[a=seven]"},
		{"select a from t where a = $2", "r t"},
		{"select a from t where a in (1)", "r t"},
		{"select a from t where (a = 1) or (b = 2)", "r t"},
		{"select a from t where (a = 1 or b = 2) and c = true", "r t[c=true]"},
		{"select a from t where (a = 1) and (b = 2)", "r t[a=1]"},
		{"select a, (select 1) from t where a = 1", "r t"},
		{"select a from t, f(1) where a = 1", "r t"},
		{"update t set b = 2 where a = 1", "w t[a=1]"},
		{"update t x set b = 2 from u where x.a = 1", "r u w t"},
		{"delete from t using u, v where t.a = u.a", "r u r v w t"},
		{"delete from t where current of c", "w t"},
		{`select * from "T" where "A" = 1`, "r T[A=1]"},
		// Tables at any depth.
		{"select * from a, b x, lateral (select * from c join d using (k)) y left join e on true", "r a r b r c r d r e"},
		{"with x as (select * from a), y (k) as materialized (delete from b returning k) select * from x, y, c", "r a r c w b"},
		{"select extract(year from d), substring(a from 2), trim(both from b) from t where x is distinct from y", "r t"},
		{"select distinct from t", "r t"},
		{"(select a from t) union select b from u", "r t r u"},
		{"merge into t using s on t.a = s.a when matched then update set b = 1 when not matched then insert values (1)", "r s w t"},
		{"table t", "r t"},
		{"values (1)", ""},
		{"select * into n from t", "r t w pg_catalog"},
		{"declare c cursor for select * from t", "r t"},
		{"copy t (a, b) from stdin", "w t"},
		{"copy t to stdout", "r t"},
		{"copy (select * from t) to stdout", "r t"},
		{"explain update t set a = 1", ""},
		{"explain (analyze, costs off) update t set a = 1", "w t"},
		{"explain analyze verbose select * from t", "r t"},
		// Row locks draw an xid.
		{"select * from t where a = 1 for no key update", "w t[a=1]"},
		{"select * from t for share", "w t"},
		// Inserts.
		{"insert into t (a) values (1)", "w t single"},
		{"insert into t as x default values", "w t single"},
		{"insert into t values (1, (2)), (3, 4)", "w t"},
		{"insert into t values ((select max(a) from u))", "r u w t"},
		{"insert into t values (1) on conflict (a) do update set a = 2", "w t"},
		{"insert into t values (f((1), (2))) returning (a), (b)", "w t single"},
	} {
		lists, ok := statements(c.sql)
		if len(lists) != 1 || !ok {
			t.Fatalf("%q: %d statements", c.sql, len(lists))
		}
		st := understand(lists[0], map[string]string{"$1": "seven"})
		var got []string
		for _, set := range []struct {
			how string
			of  []trace.Object
		}{{"r ", st.reads}, {"w ", st.writes}} {
			for _, o := range set.of {
				got = append(got, set.how+o.String())
			}
		}
		if st.singleRow {
			got = append(got, "single")
		}
		if s := strings.Join(got, " "); s != c.want || st.verb != vQuery || st.note != "" {
			t.Errorf("%q: got %q (verb %d, note %q), want %q", c.sql, s, st.verb, st.note, c.want)
		}
	}
}

func TestSleeps(t *testing.T) {
	lists, _ := statements("select pg_sleep(1.5), pg_sleep(1) from t where pg_sleep(x) is null")
	if d := sleeps(lists[0]); d != 2500*time.Millisecond {
		t.Error(d)
	}
}

func TestParameters(t *testing.T) {
	for in, want := range map[string]string{
		"parameters: $1 = '5', $2 = NULL, $3 = 'a'', $9 = ''b'": "map[$1:5 $3:a', $9 = 'b]",
		"Parameters: $1 = '5": "map[]",
		"prepare: $1 = '5'":   "map[]",
	} {
		if got := fmt.Sprint(parameters(in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
