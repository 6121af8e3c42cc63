//! A tree of accounts, one per node. Each account is granted part of its parent's grant. A share is carved off when a
//! node starts and returns when the node ends or blocks. Any account may draw on money that is not promised, so that
//! nothing starves; a promised share is safe from all other accounts.
//!
//! Invariant at every depth: children's grants + own spending + own reservations ≤ own grant (a bill above its
//! reservation is charged in full, and then shows as an overdraft of the root, which stops the next call).

use crate::budget::{Admission, Budgets, Exhausted, Reserve, Settled};
use crate::ids::NodeNumber;
use crate::money::Usd;

/// Tokens and micro-dollars, counted apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    tokens: u64,
    cost: u64,
}

impl Amount {
    const UNBOUNDED: u64 = u64::MAX / 4;

    fn limits(budgets: &Budgets) -> Amount {
        Amount {
            tokens: budgets.max_tokens.unwrap_or(Amount::UNBOUNDED),
            cost: budgets.max_cost_usd.map_or(Amount::UNBOUNDED, |limit| limit.0),
        }
    }

    fn plus(self, other: Amount) -> Amount {
        Amount { tokens: self.tokens.saturating_add(other.tokens), cost: self.cost.saturating_add(other.cost) }
    }

    fn less(self, other: Amount) -> Amount {
        Amount { tokens: self.tokens.saturating_sub(other.tokens), cost: self.cost.saturating_sub(other.cost) }
    }

    fn most(self, other: Amount) -> Amount {
        Amount { tokens: self.tokens.max(other.tokens), cost: self.cost.max(other.cost) }
    }

    fn covers(self, other: Amount) -> Result<(), Exhausted> {
        if self.cost < other.cost {
            Err(Exhausted::BudgetCost)
        } else if self.tokens < other.tokens {
            Err(Exhausted::BudgetTokens)
        } else {
            Ok(())
        }
    }
}

impl From<Reserve> for Amount {
    fn from(reserve: Reserve) -> Amount {
        Amount { tokens: reserve.tokens, cost: reserve.cost_usd.0 }
    }
}

impl From<Amount> for Reserve {
    fn from(sum: Amount) -> Reserve {
        Reserve { tokens: sum.tokens, cost_usd: Usd(sum.cost) }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Account {
    parent: Option<NodeNumber>,
    grant: Amount,
    /// Promised when its band started: nobody else may use it, even while it is unused.
    share: Amount,
    /// The sum of the children's grants.
    promised: Amount,
    spent: Amount,
    reserved: Amount,
}

impl Account {
    fn used(&self) -> Amount {
        self.promised.plus(self.spent).plus(self.reserved)
    }

    fn free(&self) -> Amount {
        self.grant.less(self.used())
    }
}

/// One account per node, by its number; the root's is the run's own.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    list: Vec<Account>,
    /// By all accounts together.
    spent: Amount,
}

impl Accounts {
    /// The root's account: its grant is the run's limit.
    pub fn open_root(&mut self, budgets: &Budgets) {
        self.list.push(Account { grant: Amount::limits(budgets), ..Account::default() });
    }

    pub fn set_limits(&mut self, budgets: &Budgets) {
        if let Some(root) = self.list.first_mut() {
            root.grant = Amount::limits(budgets);
        }
    }

    /// The next account, with a share of its parent's free money.
    pub fn open(&mut self, parent: NodeNumber, share: Reserve) {
        let number = NodeNumber::from_index(self.list.len());
        self.list.push(Account { parent: Some(parent), ..Account::default() });
        let free = self.list[parent.index()].free();
        let share = Amount::from(share);
        let share = share.less(share.less(free));
        self.list[number.index()].share = share;
        self.raise(number, share);
    }

    /// Equal shares for `count` children, after the wrap-up reserve and one `least` for each of `later` steps and for
    /// the account's own last call. Unlimited money is not shared out: it is drawn as needed.
    pub fn equal_share(
        &self,
        number: NodeNumber,
        count: usize,
        later: usize,
        least: Reserve,
        wrap_up_reserve: Reserve,
    ) -> Reserve {
        let Some(account) = self.list.get(number.index()) else { return Reserve::default() };
        let floor = Amount::from(least);
        let aside = Amount { tokens: floor.tokens * (later as u64 + 1), cost: floor.cost * (later as u64 + 1) };
        let withheld = if account.parent.is_none() { Amount::from(wrap_up_reserve) } else { Amount::default() };
        let pool = account.free().less(withheld).less(aside);
        let part = |amount: u64| if amount > Amount::UNBOUNDED / 2 { 0 } else { amount / count.max(1) as u64 };
        Amount { tokens: part(pool.tokens), cost: part(pool.cost) }.into()
    }

    /// Would this call fit now? `Wait` only while some call in flight may return money.
    pub fn admit(&self, number: NodeNumber, call: Reserve, wrap_up_reserve: Reserve, calls_open: bool) -> Admission {
        let call = Amount::from(call);
        match self.available(number, wrap_up_reserve).covers(call) {
            Ok(()) => Admission::Fits,
            Err(_) if calls_open && self.returnable(wrap_up_reserve).covers(call).is_ok() => Admission::Wait,
            Err(limit) => Admission::Never(limit),
        }
    }

    /// Is there money for this, from here up to the root?
    pub fn affords(&self, number: NodeNumber, need: Reserve, wrap_up_reserve: Reserve) -> Result<(), Exhausted> {
        self.available(number, wrap_up_reserve).covers(need.into())
    }

    /// What this account may still use: its own free money and everything unpromised above it.
    pub fn left(&self, number: NodeNumber, wrap_up_reserve: Reserve) -> Reserve {
        self.available(number, wrap_up_reserve).into()
    }

    fn available(&self, number: NodeNumber, wrap_up_reserve: Reserve) -> Amount {
        let mut sum = Amount::default();
        let mut at = Some(number);
        while let Some(account) = at.and_then(|at| self.list.get(at.index())) {
            let withheld = if account.parent.is_none() { Amount::from(wrap_up_reserve) } else { Amount::default() };
            sum = sum.plus(account.free().less(withheld));
            at = account.parent;
        }
        sum
    }

    /// What there would be if every promise and reservation came back unused.
    fn returnable(&self, wrap_up_reserve: Reserve) -> Amount {
        self.list.first().map_or(Amount::default(), |root| root.grant.less(self.spent).less(wrap_up_reserve.into()))
    }

    pub fn reserve(&mut self, number: NodeNumber, call: Reserve) {
        if let Some(account) = self.list.get_mut(number.index()) {
            account.reserved = account.reserved.plus(call.into());
            self.cover(number);
        }
    }

    /// The bill replaces the reservation; what is left over beyond the share goes back up.
    pub fn settle(&mut self, number: NodeNumber, call: Reserve, bill: &Settled) {
        if let Some(account) = self.list.get_mut(number.index()) {
            account.reserved = account.reserved.less(call.into());
            let bill = Amount { tokens: bill.tokens_in.saturating_add(bill.tokens_out), cost: bill.cost_usd.0 };
            account.spent = account.spent.plus(bill);
            self.spent = self.spent.plus(bill);
            self.cover(number);
            self.trim(number);
        }
    }

    /// The node ended or is blocked: its share returns to its parent.
    pub fn release(&mut self, number: NodeNumber) {
        if let Some(account) = self.list.get_mut(number.index()) {
            account.share = Amount::default();
            self.trim(number);
        }
    }

    /// Draws what the grant does not cover from the parent's.
    fn cover(&mut self, number: NodeNumber) {
        let account = &self.list[number.index()];
        let missing = account.used().less(account.grant);
        if missing != Amount::default() {
            self.raise(number, missing);
        }
    }

    fn raise(&mut self, number: NodeNumber, by: Amount) {
        // The root's grant is the run's limit; being over it is an overdraft, not more money.
        let Some(parent) = self.list[number.index()].parent else { return };
        let account = &mut self.list[number.index()];
        account.grant = account.grant.plus(by);
        let above = &mut self.list[parent.index()];
        above.promised = above.promised.plus(by);
        self.cover(parent);
    }

    fn trim(&mut self, number: NodeNumber) {
        let account = &mut self.list[number.index()];
        let Some(parent) = account.parent else { return };
        let back = account.grant.less(account.used().most(account.share));
        if back == Amount::default() {
            return;
        }
        account.grant = account.grant.less(back);
        let above = &mut self.list[parent.index()];
        above.promised = above.promised.less(back);
        self.trim(parent);
    }

    /// Checks every invariant of this module.
    pub fn check(&self) -> Result<(), String> {
        let mut children = vec![Amount::default(); self.list.len()];
        for account in &self.list {
            if let Some(parent) = account.parent {
                children[parent.index()] = children[parent.index()].plus(account.grant);
            }
        }
        for (number, account) in self.list.iter().enumerate() {
            if children[number] != account.promised {
                return Err(format!(
                    "account {number} promised {:?}, its children hold {:?}",
                    account.promised, children[number]
                ));
            }
            if account.parent.is_some() && account.grant.covers(account.used()).is_err() {
                return Err(format!("account {number} uses {:?} of {:?}", account.used(), account.grant));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOT: NodeNumber = NodeNumber::ROOT;
    const FIRST: NodeNumber = NodeNumber(1);
    const SECOND: NodeNumber = NodeNumber(2);

    fn tokens(tokens: u64) -> Reserve {
        Reserve { tokens, cost_usd: Usd(tokens * 2) }
    }

    fn bill(tokens_in: u64) -> Settled {
        Settled { tokens_in, cost_usd: Usd(tokens_in * 2), ..Settled::default() }
    }

    fn limits(most: u64) -> Budgets {
        Budgets { max_tokens: Some(most), max_cost_usd: Some(Usd(most * 2)), ..Budgets::default() }
    }

    #[test]
    fn b2_a_share_is_safe_from_siblings_and_returns_at_the_end() {
        let mut accounts = Accounts::default();
        accounts.open_root(&limits(1_000));
        let share = accounts.equal_share(ROOT, 2, 0, tokens(100), tokens(100));
        assert_eq!(share.tokens, 400, "1000 less the reserve of 100 and 100 for its own last call, in two");
        accounts.open(ROOT, share);
        accounts.open(ROOT, share);
        assert_eq!(
            accounts.admit(FIRST, tokens(500), tokens(100), false),
            Admission::Fits,
            "its share and what nobody was promised"
        );
        assert_eq!(accounts.admit(FIRST, tokens(501), tokens(100), false), Admission::Never(Exhausted::BudgetCost));
        assert_eq!(
            accounts.admit(FIRST, tokens(501), tokens(100), true),
            Admission::Wait,
            "a call in flight may bring money back"
        );
        assert_eq!(
            accounts.admit(FIRST, tokens(901), tokens(100), true),
            Admission::Never(Exhausted::BudgetCost),
            "nothing could bring that"
        );
        accounts.release(SECOND);
        assert_eq!(accounts.admit(FIRST, tokens(900), tokens(100), false), Admission::Fits);
        assert_eq!(
            accounts.admit(FIRST, tokens(901), tokens(0), false),
            Admission::Fits,
            "the reserve is for the one who may use it"
        );
    }

    #[test]
    fn b2_unlimited_money_is_drawn_and_never_carved() {
        let mut accounts = Accounts::default();
        accounts.open_root(&Budgets { max_cost_usd: None, ..Budgets::default() });
        assert_eq!(accounts.equal_share(ROOT, 3, 4, tokens(10), tokens(10)), Reserve::default());
        accounts.open(ROOT, Reserve::default());
        accounts.reserve(FIRST, tokens(1_000_000));
        accounts.check().expect("conserved");
    }

    #[derive(Clone, Debug)]
    enum Op {
        Open(usize, u64),
        Call(usize, u64, u64),
        Release(usize),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            (any::<usize>(), 0..5_000u64).prop_map(|(at, share)| Op::Open(at, share)),
            (any::<usize>(), 0..2_000u64, 0..2_000u64).prop_map(|(at, reserve, used)| Op::Call(at, reserve, used)),
            any::<usize>().prop_map(Op::Release),
        ]
    }

    proptest! {
        #[test]
        fn b2_invariant_35_money_is_conserved_at_every_depth(ops in prop::collection::vec(op(), 0..120), most in 1_000..50_000u64) {
            let mut accounts = Accounts::default();
            accounts.open_root(&limits(most));
            let mut open: Vec<(NodeNumber, u64, u64)> = Vec::new();
            for op in ops {
                let count = accounts.list.len();
                match op {
                    Op::Open(at, share) => accounts.open(NodeNumber::from_index(at % count), tokens(share)),
                    Op::Release(at) => accounts.release(NodeNumber::from_index(at % count)),
                    Op::Call(at, reserve, used) => {
                        let number = NodeNumber::from_index(at % count);
                        match accounts.admit(number, tokens(reserve), Reserve::default(), !open.is_empty()) {
                            Admission::Fits => {
                                accounts.reserve(number, tokens(reserve));
                                open.push((number, reserve, used.min(reserve)));
                            }
                            Admission::Wait | Admission::Never(_) => {
                                if let Some((number, reserve, used)) = open.pop() {
                                    accounts.settle(number, tokens(reserve), &bill(used));
                                }
                            }
                        }
                    }
                }
                prop_assert_eq!(accounts.check(), Ok(()));
                prop_assert!(accounts.list[0].grant.covers(accounts.list[0].used()).is_ok(), "the run's limit holds");
            }
        }
    }
}
