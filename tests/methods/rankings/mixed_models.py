"""Mixed models by restricted maximum likelihood: what intervals of rankings are measured against.

Written without the product: variances by a search, contrasts of systems by dense algebra.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.stats import t as student


def contrasts(n_systems):
    """Effects of systems that sum to 0, by the effects of all but the last."""
    return np.vstack([np.eye(n_systems - 1), -np.ones(n_systems - 1)])


def score_widths(j, s, y):
    """Half widths of differences ``(K, K)``: systems and judges fixed, judge x system random."""
    n_judges, k = int(j.max()) + 1, int(s.max()) + 1
    n = np.bincount(j * k + s, minlength=n_judges * k).astype(float)
    mean = np.bincount(j * k + s, y, n.size) / np.maximum(n, 1)
    within = float(((y - mean[j * k + s]) ** 2).sum())
    freedom = y.size - np.count_nonzero(n)
    cells = np.flatnonzero(n)
    x = np.hstack([np.eye(n_judges)[cells // k], contrasts(k)[cells % k]])

    def fitted(logs):
        v = np.exp(logs[0]) + np.exp(logs[1]) / n[cells]
        information = x.T @ (x / v[:, None])
        effects = np.linalg.solve(information, x.T @ (mean[cells] / v))
        return v, information, mean[cells] - x @ effects

    def loss(logs):
        v, information, r = fitted(logs)
        return (
            np.log(v).sum() + np.linalg.slogdet(information)[1] + (r**2 / v).sum()
            + freedom * logs[1] + within * np.exp(-logs[1])
        )  # fmt: skip

    noise = np.log(within / freedom)
    best = minimize(loss, [noise - 2, noise], method="Nelder-Mead", options={"fatol": 1e-4})
    covariance = np.linalg.inv(fitted(best.x)[1])[n_judges:, n_judges:]
    return half_widths(contrasts(k) @ covariance @ contrasts(k).T, n_judges)


def pair_widths(j, a, b, y):
    """Half widths of strengths: judge x system random, by penalised quasi-likelihood."""
    n_judges, k = int(j.max()) + 1, int(max(a.max(), b.max())) + 1
    x = contrasts(k)[a] - contrasts(k)[b]
    z = np.zeros((y.size, n_judges * k))
    z[np.arange(y.size), j * k + a] = 1
    z[np.arange(y.size), j * k + b] = -1
    rows, free = np.hstack([x, z]), np.zeros(k - 1 + n_judges * k)
    variance = 0.25
    for _ in range(100):
        eta = rows @ free
        p = 1 / (1 + np.exp(-eta))
        information = rows.T @ (rows * (p * (1 - p))[:, None])
        information += np.diag(np.r_[np.zeros(k - 1), np.full(n_judges * k, 1 / variance)])
        inverse = np.linalg.inv(information)
        free = inverse @ (rows.T @ (p * (1 - p) * eta + y - p))
        u = free[k - 1 :]
        effective = u.size - np.trace(inverse[k - 1 :, k - 1 :]) / variance
        before, variance = variance, max(float(u @ u) / effective, 1e-4)
        if abs(variance - before) < 1e-3 * before:
            break
    return half_widths(contrasts(k) @ inverse[: k - 1, : k - 1] @ contrasts(k).T, n_judges)


def half_widths(covariance, n_judges):
    own = np.diag(covariance)
    variance = np.maximum(own[:, None] + own - 2 * covariance, 0)
    return student.ppf(0.975, n_judges - 1) * np.sqrt(variance)
