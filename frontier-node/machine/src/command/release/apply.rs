//! Applying `release`: the lease ends, the host's clock and the URL stay as they were.

use super::{Release, ReleaseBatch};
use crate::{
    command::{
        lease::LeaseKind,
        report::{ReportResult, conclude::Next},
    },
    counters::Counter,
    error::MachineError,
    limits,
    step::Step,
};

impl Step<'_> {
    pub(crate) fn release(
        &mut self,
        batch: &ReleaseBatch,
    ) -> Result<Vec<ReportResult>, MachineError> {
        let mut results = Vec::with_capacity(batch.items.len());
        for (position, item) in batch.items.iter().enumerate() {
            let result = if position < limits::REPORT_ITEMS {
                self.release_one(item)?
            } else {
                ReportResult::Invalid("batch_too_long")
            };
            self.count_result(&result);
            results.push(result);
        }
        Ok(results)
    }

    fn release_one(&mut self, item: &Release) -> Result<ReportResult, MachineError> {
        let key = match self.held(item.key, item.token)? {
            Ok(key) => key,
            Err(answer) => return Ok(answer),
        };
        let (id, lease) = self.leased(key)?;
        self.m.count(Counter::Released);
        self.m.change(id, |host, _| {
            host.in_flight = false;
            let budgets = host.rest.as_mut().map(|rest| rest.budgets.iter_mut());
            if let Some(budget) = budgets.and_then(|mut budgets| {
                budgets.find(|budget| key.kind() == LeaseKind::Page && budget.crawl == lease.crawl)
            }) {
                budget.spent = budget.spent.saturating_sub(1);
            }
        })?;
        match key.kind() {
            LeaseKind::Page => {
                let mut url = self.leased_url(key, &lease)?;
                (url.closed_token, url.closed_requeued) = (lease.token, false);
                self.conclude_page(
                    id,
                    key,
                    &lease,
                    url,
                    Next::Requeue {
                        due_ms: lease.due_ms,
                    },
                )?;
            }
            LeaseKind::Robots => {
                self.end_lease(key);
                self.note_robots_closed(id, &lease)?;
            }
            LeaseKind::Errand => self.end_lease(key),
        }
        Ok(ReportResult::Closed)
    }
}
