    find(page, 'input[type=radio]').forEach(function (radio) {
      if (paged) radio.required = false;  // a browser cannot point at what is not shown
      radio.addEventListener('change', function () { settle(radio.closest('.slot')); });
    });

    document.addEventListener('keydown', function (event) {  // 1, 2, ... choose; Enter goes on
      var target = event.target, inside = target.closest && target.closest('.slot');
      if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
      if (/^(textarea|select|button|summary)$/i.test(target.tagName) || target.isContentEditable) return;
      if (/^input$/i.test(target.tagName) && target.type !== 'radio') return;
      var slot = paged ? slots[at] : inside || slots.filter(isOpen)[0];
      var radio = slot && /^[1-9]$/.test(event.key) && find(slot, 'input[type=radio]')[event.key - 1];
      if (radio) {
        radio.checked = true;
        radio.focus();
        settle(slot);
      } else if (event.key === 'Enter' && paged && at < slots.length - 1) {
        page.querySelector('.next').click();
      } else return;
      event.preventDefault();
    });

    function isOpen(slot) {
      return !slot.querySelector('input:checked');
    }
